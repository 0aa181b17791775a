package loop_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// A mood is a result that cannot be written.
type mood struct{}

func (mood) MarshalJSON() ([]byte, error) { panic("in a bad mood") }

// A speechless is an error that has no text.
type speechless struct{}

func (*speechless) Error() string { panic("speechless") }

// Whatever a tool does, its call gets a result, and the process lives.
func TestToolCannotEndTheRun(t *testing.T) {
	t.Parallel()
	cycle, loops := map[string]any{}, make([]any, 1)
	cycle["self"], loops[0] = cycle, loops
	tools := map[string]func(context.Context) (any, error){
		"cycle":  func(context.Context) (any, error) { return cycle, nil },
		"loops":  func(context.Context) (any, error) { return loops, nil },
		"error":  func(context.Context) (any, error) { return nil, &speechless{} },
		"exit":   func(context.Context) (any, error) { runtime.Goexit(); return true, nil },
		"mood":   func(context.Context) (any, error) { return mood{}, nil },
		"nil":    func(context.Context) (any, error) { var err *loop.Failure; return nil, err },
		"binary": func(context.Context) (any, error) { return loop.File{Data: "\xff\x00"}, nil },
	}
	for name, f := range tools {
		l := started(t, loop.Config{Tools: []loop.Tool{tool(name, loop.Repeat, f)}, Model: &script{replies: []loop.Reply{calls(call("1", name)), says("done")}}})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := l.Run(ctx)
		cancel()
		if err != nil || r.Text != "done" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// A tool that tries to change its own run is told, instead of waiting for it.
func TestToolCannotChangeItsRun(t *testing.T) {
	t.Parallel()
	var l *loop.Loop
	meddle := tool("meddle", loop.Repeat, func(ctx context.Context) (any, error) {
		_, err := l.Run(ctx)
		for _, err := range []error{err, l.Say(ctx, "more"), l.Close(ctx)} {
			testkit.WantErr(t, err, core.ErrInvalid)
		}
		return true, nil
	})
	l = started(t, loop.Config{Tools: []loop.Tool{meddle}, Model: &script{replies: []loop.Reply{calls(call("1", "meddle")), says("done")}}})
	run(t, l)
	testkit.Equal(t, "rows", "user assistant tool_result assistant", roles(l.Messages()))
}

// A smallLog takes no line above 100 kB.
type smallLog struct{ session.Log }

func (l smallLog) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (core.Receipt, error) {
	for _, line := range lines {
		if len(line) > 100_000 {
			return core.Receipt{}, core.ErrTooLarge
		}
	}
	return l.Log.Append(ctx, id, w, lines)
}

// A result that the log does not take is an error that the model sees.
func TestResultThatIsTooLargeIsAnErrorRow(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 200_000)
	tools := []loop.Tool{
		tool("command", loop.Repeat, func(context.Context) (any, error) { return loop.Command{Stdout: huge}, nil }),
		tool("error", loop.Once, func(context.Context) (any, error) { return nil, errors.New(huge) }),
	}
	s, err := session.Create(t.Context(), smallLog{newLog()}, "/", session.Options{Dialect: "openrath", ID: loop.NewID()})
	testkit.Must(t, err)
	l, err := loop.New(s, loop.Config{Tools: tools, Model: &script{replies: []loop.Reply{calls(call("1", "command"), call("2", "error")), says("done")}}})
	testkit.Must(t, err)
	testkit.Must(t, l.Say(t.Context(), "go"))
	if r := run(t, l); r.Text != "done" {
		t.Errorf("result %+v", r)
	}
	for _, row := range results(l) {
		if !strings.Contains(row, `"error_kind": "result_too_large"`) {
			t.Errorf("row %.200s", row)
		}
	}
}
