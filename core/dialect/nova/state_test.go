package nova_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/item"
)

// NOVA-03, NOVA-04
func TestCheckID(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		"abcdefgh": true, id: true, "A_b-4567": true, strings.Repeat("x", nova.MaxID): true,
		"": false, "short-7": false, "abcd/efgh": false, `abcd\efgh`: false, "abcd..efgh": false,
		"abcdefgh\n": false, "abcdéfghi": false, "abcd efgh": false, "abcd\x00efgh": false,
		strings.Repeat("x", nova.MaxID+1): false,
	} {
		if err := nova.CheckID(s); (err == nil) != ok || err != nil && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// NOVA-23, NOVA-35
func TestKeepsTenNewestDecisions(t *testing.T) {
	t.Parallel()
	var lines [][]byte
	for i := range 12 {
		d := nova.Decision{Decision: fmt.Sprint("d", i), Rationale: "r"}
		if i == 11 {
			d.Timestamp = "yesterday"
		}
		lines = append(lines, must(t)(nova.NewDecision(d)))
	}
	s := after(t, fresh(), lines...)
	if len(s.Decisions) != 10 || s.Decisions[0].Decision != "d2" || s.Metrics.DecisionCount != 12 {
		t.Errorf("%+v", s)
	}
	if s.Decisions[0].Timestamp != "2026-03-01T10:00:00.000000" || s.Decisions[9].Timestamp != "yesterday" {
		t.Errorf("made at %q and %q", s.Decisions[0].Timestamp, s.Decisions[9].Timestamp)
	}
}

// NOVA-24, NOVA-29
func TestNewArtifact(t *testing.T) {
	t.Parallel()
	s := after(t, fresh(), must(t)(nova.NewArtifact("x", "/1")), must(t)(nova.NewArtifact("y", "ref:2")), must(t)(nova.NewArtifact("x", "/3")))
	if diff := cmp.Diff(map[string]string{"x": "/3", "y": "ref:2"}, s.Artifacts); diff != "" {
		t.Error(diff)
	}
	if _, err := nova.NewArtifact("x", strings.Repeat("content ", 1000)); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a file's content for a path: %v", err)
	}
	if line, _ := (nova.Dialect{}).Write(item.Item{Kind: item.Message, Role: item.RoleUser, Blocks: []item.Block{{Kind: item.BlockText, Text: "hi"}}}); line != nil {
		t.Errorf("a message became %s", line)
	}
}

// NOVA-25, NOVA-26, NOVA-35
func TestCountersOnlyGrow(t *testing.T) {
	t.Parallel()
	s := after(t, fresh(),
		nova.NewTokens(70), nova.NewTokens(-100), nova.NewTokens(1<<62),
		must(t)(nova.NewTask(2, nil, nova.DefaultLimits)), must(t)(nova.NewTask(-5, nil, nova.DefaultLimits)))
	if s.TokensUsed != 1<<53 || s.Metrics.TotalTokens != 1<<53 {
		t.Errorf("tokens %d, total %d", s.TokensUsed, s.Metrics.TotalTokens)
	}
	if s.TurnCount != 2 || s.Metrics.TaskCount != 2 {
		t.Errorf("turns %d, tasks %d", s.TurnCount, s.Metrics.TaskCount)
	}
	if s.LastUpdated != "2026-03-01T10:00:00.000000" || s.CreatedAt != created {
		t.Errorf("created %s, updated %s", s.CreatedAt, s.LastUpdated)
	}
}

// NOVA-29
func TestDecisionsHoldNoContent(t *testing.T) {
	t.Parallel()
	content := `"messages":["` + strings.Repeat("M", 5000) + `"]`
	of := func(member string) string { return `{"decision":"x","rationale":"y",` + member + `}` }
	state := func(made string) string {
		return `{"type":"state","state":{"session_id":"` + id + `","created_at":"` + created + `","last_updated":"` + created + `","key_decisions":[` + made + `]}}`
	}
	for name, line := range map[string]func(made string) string{
		"decision": func(made string) string { return `{"type":"decision","decision":` + made + `}` },
		"task":     func(made string) string { return `{"type":"task","decision":` + made + `}` },
		"state":    state,
	} {
		if err := (nova.Dialect{}).Check([]byte(line(of(content)))); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "unknown members") {
			t.Errorf("%s: %v", name, err)
		}
		if err := (nova.Dialect{}).Check([]byte(line(of(`"by":"me"`)))); err != nil {
			t.Errorf("%s with a short member: %v", name, err)
		}
	}
	d := nova.Decision{Decision: "x", Extra: []byte("{" + content + "}")}
	if _, err := nova.NewDecision(d); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("NewDecision: %v", err)
	}
	if _, err := nova.NewTask(1, &d, nova.DefaultLimits); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("NewTask: %v", err)
	}
}

// NOVA-12
func TestCompleteFollowsTheTaskOverTheLimit(t *testing.T) {
	t.Parallel()
	task := func(tokens int64) []byte {
		return must(t)(nova.NewTask(1, nil, nova.Limits{Decisions: 10, Tokens: tokens}))
	}
	after := must(t)(nova.NewArtifact("after", "/p"))
	for name, c := range map[string]struct {
		added [][]byte
		n     int
	}{
		"no task":               {[][]byte{nova.NewTokens(200_000), after}, 0},
		"one task":              {[][]byte{nova.NewTokens(150_001), task(150_000), after}, 2},
		"tokens after the task": {[][]byte{task(150_000), nova.NewTokens(150_001)}, 0},
		"the first is over":     {[][]byte{nova.NewTokens(150_001), task(150_000), task(200_000), after}, 2},
		"the second is over":    {[][]byte{nova.NewTokens(150_001), task(200_000), task(150_000), after}, 3},
	} {
		es := entries(t, c.added...)
		line, n := nova.Dialect{}.Complete(header(t), nil, es)
		if n != c.n || (line != nil) != (c.n > 0) {
			t.Errorf("%s: %s after %d lines, want it after %d", name, line, n, c.n)
		}
	}
}

func full(decisions int, tokens int64) nova.State {
	s := fresh()
	for i := range decisions {
		s.Decisions = append(s.Decisions, nova.Decision{Decision: fmt.Sprint("d", i), Timestamp: created})
	}
	s.TokensUsed, s.Artifacts, s.Metrics.DecisionCount = tokens, map[string]string{"a": "/a"}, int64(decisions)
	return s
}

// NOVA-21
func TestShouldPruneOnlyBeyondLimits(t *testing.T) {
	t.Parallel()
	pruned := full(11, 200_000)
	pruned.Pruned = true
	for _, c := range []struct {
		name string
		s    nova.State
		l    nova.Limits
		want bool
	}{
		{"at both limits", full(10, 150_000), nova.DefaultLimits, false},
		{"a decision more", full(11, 0), nova.DefaultLimits, true},
		{"a token more", full(0, 150_001), nova.DefaultLimits, true},
		{"pruned before", pruned, nova.DefaultLimits, false},
		{"other limits", full(3, 0), nova.Limits{Decisions: 2, Tokens: 1}, true},
		{"wider limits", full(11, 200_000), nova.Limits{Decisions: 20, Tokens: 300_000}, false},
	} {
		if got := c.s.ShouldPrune(c.l); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// NOVA-22
func TestCompressKeepsTheLastDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keep, left int
		artifacts  int
		tokens     int64
	}{
		{10, 10, 0, 150_001}, {10, 10, 1, 150_000}, {12, 12, 1, 0}, {0, 0, 1, 0}, {-3, 0, 1, 0}, {1, 1, 1, 0},
	} {
		s := after(t, full(12, c.tokens), nova.NewCompress(nova.Limits{Decisions: c.keep, Tokens: 150_000}))
		if len(s.Decisions) != c.left || len(s.Artifacts) != c.artifacts {
			t.Errorf("%+v: %d decisions, %d artifacts", c, len(s.Decisions), len(s.Artifacts))
		}
		if c.left > 0 && s.Decisions[c.left-1].Decision != "d11" {
			t.Errorf("%+v: the last is %+v", c, s.Decisions[c.left-1])
		}
		if s.Metrics.DecisionCount != 0 || !s.Pruned || s.LastPrunedAt != "2026-03-01T10:00:00.000000" || s.TokensUsed != c.tokens {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

// NOVA-16, NOVA-17
func TestForkHasOwnCountersAndMemory(t *testing.T) {
	t.Parallel()
	s := full(2, 77)
	s.AgentName, s.CurrentPlan, s.Tags, s.TurnCount, s.Pruned, s.ForkCount = "impl", "p", []string{"x"}, 5, true, 3
	s.Metrics.TaskCount = 5
	child := s.Fork("child-01", "2026-03-02T00:00:00.000000")
	want := nova.State{
		SessionID: "child-01", CreatedAt: "2026-03-02T00:00:00.000000", LastUpdated: "2026-03-02T00:00:00.000000",
		Model: s.Model, AgentName: "impl", CurrentPlan: "p", Decisions: s.Decisions, Artifacts: s.Artifacts,
		TokensUsed: 77, Tags: []string{"x"}, ForkParentID: id,
	}
	if diff := cmp.Diff(want, child); diff != "" {
		t.Error(diff)
	}
	child.Decisions[0].Decision, child.Artifacts["a"], child.Tags[0] = "other", "other", "other"
	if s.Decisions[0].Decision != "d0" || s.Artifacts["a"] != "/a" || s.Tags[0] != "x" {
		t.Error("the parent changed with its child")
	}
}

// NOVA-36
func TestForksAreCounted(t *testing.T) {
	t.Parallel()
	line := nova.Dialect{}.ForkMark(core.Header{ID: "child-01"})
	if s := after(t, fresh(), line, line); s.ForkCount != 2 {
		t.Errorf("%d forks", s.ForkCount)
	}
}

// NOVA-37
func TestNewUpdate(t *testing.T) {
	t.Parallel()
	s := after(t, fresh(), must(t)(nova.NewUpdate([]byte(`{"plan_summary":"Updated plan","agent_name":"impl","tags":["a","b","a"],"model":"m"}`))))
	if s.CurrentPlan != "Updated plan" || s.AgentName != "impl" || s.Model != "m" || len(s.Tags) != 2 {
		t.Errorf("%+v", s)
	}
	s = after(t, s, must(t)(nova.NewUpdate([]byte(`{"current_plan":null}`))))
	if s.CurrentPlan != "" || s.AgentName != "impl" {
		t.Errorf("%+v", s)
	}
	for updates, names := range map[string]string{
		`{"plan":"x"}`: "plan ", `{"session_id":"x"}`: "session_id", `{"turn_count":0}`: "turn_count",
		`{"model":null}`: "model", `{"tags":"x"}`: "tags", `{"current_plan":1}`: "current_plan", `{}`: "nothing", `[]`: "updates",
		`{"type":"state"}`: "type",
	} {
		if _, err := nova.NewUpdate([]byte(updates)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v", updates, err)
		}
	}
}

// NOVA-14
func TestContextText(t *testing.T) {
	t.Parallel()
	s := fresh()
	want := "Session ID: " + id + "\nModel: " + nova.DefaultModel + "\nTurns: 0"
	if diff := cmp.Diff(want, s.Text()); diff != "" {
		t.Error(diff)
	}
	s = after(t, s, must(t)(nova.NewTask(1, &nova.Decision{Decision: "D1"}, nova.DefaultLimits)), must(t)(nova.NewTask(1, &nova.Decision{Decision: "D2"}, nova.DefaultLimits)),
		must(t)(nova.NewUpdate([]byte(`{"current_plan":"Ship"}`))))
	want = "Session ID: " + id + "\nModel: " + nova.DefaultModel + "\nTurns: 2\nPlan: Ship\nRecent decision: D2"
	if diff := cmp.Diff(want, s.Text()); diff != "" {
		t.Error(diff)
	}
}

func TestFoldIgnoresOtherLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{}`, `{"type":"task","turns":"x"}`, `{"type":"task","turns":1.5}`, `{"type":"task","decision":7}`, `{"type":"decision"}`,
		`{"type":"artifact","name":"x"}`, `{"type":"tokens","count":[]}`, `{"type":"update","mood":1}`, `{"type":"compress","max_tokens":"x"}`,
		`{"type":"state","state":{}}`, `{"type":"state"}`, `{"type":"forked"}`, `{"type":"message"}`,
	} {
		if diff := cmp.Diff(fresh(), after(t, fresh(), []byte(line))); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
