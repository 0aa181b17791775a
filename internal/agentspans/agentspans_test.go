package agentspans

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/trajectory"
)

// Sessions whose entries have no times, or times that go back, make spans that do not
// end before they begin, in the order of the session.
func TestSpansDoNotEndBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	call := trajectory.Call{Block: item.Block{Kind: item.BlockCall, ID: "c", Name: "x"}, Results: []trajectory.Result{{Time: "2025-01-01T00:00:00.000Z"}}}
	for _, steps := range [][]trajectory.Step{
		{{Role: item.RoleUser}, {Role: item.RoleAssistant, Calls: []trajectory.Call{call, call}}, {Role: item.RoleUser}},
		{{Role: item.RoleUser, Time: "no time"}, {Role: item.RoleAssistant, Time: "2026-01-01T00:00:00.000Z", Calls: []trajectory.Call{call}}},
		{{Role: item.RoleAssistant, Time: "2026-01-01T00:00:00.000Z"}, {Role: item.RoleSystem, Kind: item.Compaction, Time: "2024-01-01T00:00:00.000Z"}},
		{{Role: item.RoleSystem}},
	} {
		recorder := tracetest.NewSpanRecorder()
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
		emit(t.Context(), provider.Tracer(""), &trajectory.Trajectory{Agent: "pi", Session: "s", Steps: steps}, true)
		if len(recorder.Started()) != len(recorder.Ended()) {
			t.Errorf("%d spans started, %d ended", len(recorder.Started()), len(recorder.Ended()))
		}
		for _, s := range recorder.Ended() {
			if s.EndTime().Before(s.StartTime()) {
				t.Errorf("%s ends at %v and begins at %v", s.Name(), s.EndTime(), s.StartTime())
			}
		}
	}
}

// A question that is followed by another before an answer is of the same turn.
func TestTurnsBeginAfterAnswers(t *testing.T) {
	t.Parallel()
	user, answer := trajectory.Step{Role: item.RoleUser}, trajectory.Step{Role: item.RoleAssistant}
	for _, c := range []struct {
		steps []trajectory.Step
		turns int
	}{
		{[]trajectory.Step{user}, 1},
		{[]trajectory.Step{user, user, answer, answer}, 1},
		{[]trajectory.Step{user, answer, user, answer, user}, 3},
		{[]trajectory.Step{answer, user}, 2},
	} {
		provider := sdk.NewTracerProvider()
		if got := emit(t.Context(), provider.Tracer(""), &trajectory.Trajectory{Steps: c.steps}, false); got != c.turns {
			t.Errorf("%d turns, want %d", got, c.turns)
		}
	}
}
