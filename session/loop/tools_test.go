package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// A RuntimeError has the name that OpenRath's errors have.
type RuntimeError struct{ text string }

func (e *RuntimeError) Error() string { return e.text }

// RATH-21, RATH-22, RATH-23, RATH-24: the row of each error, byte for byte; the
// siblings of a call that fails still run.
func TestErrorRows(t *testing.T) {
	t.Parallel()
	ok := tool("noop", loop.Repeat, func(context.Context) (any, error) { return map[string]any{"ok": true, "é": nil}, nil })
	boom := tool("boom", loop.Repeat, func(context.Context) (any, error) { return nil, &RuntimeError{"simulated dispatch failure"} })
	failure := tool("io", loop.Repeat, func(context.Context) (any, error) {
		return nil, &loop.Failure{Kind: "io", Message: "nöpe 😀", Detail: strings.Repeat("é", 4001)}
	})
	panics := tool("panics", loop.Repeat, func(context.Context) (any, error) { panic("at the disco") })
	keyless := tool("keyless", loop.Repeat, nil)
	keyless.Run = ok.Run
	keyless.Key = func(loop.Call) (string, error) { return "", &RuntimeError{"no key"} }
	mute := tool("mute", loop.Repeat, nil)
	mute.Run = ok.Run
	mute.Key = func(loop.Call) (string, error) { var none *RuntimeError; return "", none } // its Error panics
	long := strings.Repeat("x", 2001)
	l := started(t, loop.Config{Tools: []loop.Tool{ok, boom, failure, panics, keyless, mute}, Model: &script{replies: []loop.Reply{calls(
		loop.Call{ID: "1", Name: "noop", Arguments: "{"},
		loop.Call{ID: "2", Name: "noop", Arguments: ""},
		loop.Call{ID: "3", Name: "noop", Arguments: "[1]"},
		loop.Call{ID: "4", Name: "noop", Arguments: long},
		call("5", "ghost"), call("6", "boom"), call("7", "io"), call("8", "panics"), call("9", "keyless"), call("10", "mute"), call("11", "noop"),
	), says("done")}}})
	run(t, l)
	testkit.Equal(t, "results", []string{
		`{"ok": false, "error_kind": "invalid_tool_arguments", "message": "tool 'noop' returned non-JSON or unparseable arguments", "detail": "{"}`,
		`{"ok": false, "error_kind": "invalid_tool_arguments", "message": "tool 'noop' returned non-JSON or unparseable arguments"}`,
		`{"ok": false, "error_kind": "invalid_tool_arguments", "message": "tool 'noop' returned non-JSON or unparseable arguments", "detail": "[1]"}`,
		`{"ok": false, "error_kind": "invalid_tool_arguments", "message": "tool 'noop' returned non-JSON or unparseable arguments", "detail": "` + long[:2000] + `...(truncated)"}`,
		`{"ok": false, "error_kind": "unknown_tool", "message": "unknown tool 'ghost'"}`,
		`{"ok": false, "error_kind": "tool_execution_exception", "message": "RuntimeError: simulated dispatch failure", "detail": "RuntimeError"}`,
		`{"ok": false, "error_kind": "io", "message": "n\u00f6pe \ud83d\ude00", "detail": "` + strings.Repeat(`\u00e9`, 4000) + `...(truncated)"}`,
		`{"ok": false, "error_kind": "tool_execution_exception", "message": "Panic: at the disco", "detail": "Panic"}`,
		`{"ok": false, "error_kind": "tool_execution_exception", "message": "RuntimeError: no key", "detail": "RuntimeError"}`,
		`{"ok": false, "error_kind": "tool_execution_exception", "message": "Panic: runtime error: invalid memory address or nil pointer dereference", "detail": "Panic"}`,
		`{"ok": true, "é": null}`,
	}, results(l))
}

// RATH-24
func TestResultTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		result any
		want   string
	}{
		{true, `{"ok": true}`},
		{loop.Command{Stdout: "hi\n", ElapsedMS: 3.68}, `{"exit_code": 0, "stdout": "hi\n", "stderr": "", "elapsed_ms": 3.68}`},
		{loop.File{Data: strings.Repeat("é", 12_001)}, `{"data": "` + strings.Repeat("é", 12_000) + `...(truncated)"}`},
		{loop.Entries{}, `{"entries": []}`},
		{loop.Entries{Entries: []loop.Entry{{"a", "d/a", true}}}, `{"entries": [{"name": "a", "path": "d/a", "is_dir": true}]}`},
		{loop.Written{Bytes: 7}, `{"bytes_written": 7}`},
		{loop.Code{Text: "2"}, `{"text": "2", "stdout": "", "stderr": "", "error": ""}`},
		{strings.Repeat("x", 48_000), `"` + strings.Repeat("x", 47_999) + `...(truncated)`},
		{[]any{1, "ü", nil}, `[1, "ü", null]`},
		{&loop.File{Data: strings.Repeat("x", 12_001)}, `{"data": "` + strings.Repeat("x", 12_000) + `...(truncated)"}`},
		{json.RawMessage(`{"a":1,"a":2}`), `{"a": 1, "a": 2}`},
		{json.RawMessage(`{oops`), `"{oops"`},
		{map[string]any{"a": math.NaN(), "b": time.Second, "c": errors.New("no"), "d": 1.5}, `{"a": "NaN", "b": "1s", "c": "no", "d": 1.5}`},
	} {
		testkit.Equal(t, "text", c.want, loop.Text(c.result))
	}
	var many struct{ Entries []loop.Entry }
	testkit.Must(t, json.Unmarshal([]byte(loop.Text(loop.Entries{Entries: make([]loop.Entry, 501)})), &many))
	if len(many.Entries) != 500 {
		t.Errorf("%d entries", len(many.Entries))
	}
	if got := loop.Text(make(chan int)); !strings.HasPrefix(got, `"0x`) {
		t.Errorf("what JSON cannot represent is %s", got)
	}
}

// RATH-25
func TestCallsRunInParallelAcrossKeysAndInOrderWithinOne(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	both := sync.WaitGroup{}
	both.Add(2)
	meet := loop.Tool{Spec: loop.Spec{Name: "meet"}, Policy: loop.Repeat, Key: loop.Parallel, Run: func(context.Context, json.RawMessage) (any, error) {
		both.Done()
		both.Wait() // for the other call of meet
		return true, nil
	}}
	step := loop.Tool{
		Spec: loop.Spec{Name: "step"}, Policy: loop.Repeat,
		Key: func(loop.Call) (string, error) { return "file", nil },
		Run: func(ctx context.Context, args json.RawMessage) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, fmt.Sprintf("%s after %d rows", args, len(loop.Transcript(ctx))))
			return true, nil
		},
	}
	l := started(t, loop.Config{Tools: []loop.Tool{meet, step}, Model: &script{replies: []loop.Reply{calls(
		call("m1", "meet"), loop.Call{ID: "s1", Name: "step", Arguments: `{"n":1}`},
		call("m2", "meet"), loop.Call{ID: "s2", Name: "step", Arguments: `{"n":2}`},
	), says("done")}}})
	run(t, l)
	var ids []string
	for _, m := range l.Messages() {
		if m.Role == loop.ToolResult {
			ids = append(ids, m.CallID)
		}
	}
	testkit.Equal(t, "rows", []string{"m1", "s1", "m2", "s2"}, ids)
	if len(order) != 2 || !strings.HasPrefix(order[0], `{"n":1}`) || order[1] < `{"n":2} after 4` {
		t.Errorf("steps ran as %q, the second before the row of the first", order)
	}
}

// RATH-26
func TestToolsAreSortedAndUnique(t *testing.T) {
	t.Parallel()
	m := &script{replies: []loop.Reply{says("done")}}
	noop := func(context.Context) (any, error) { return true, nil }
	l := started(t, loop.Config{Model: m, Tools: []loop.Tool{tool("zip", loop.Once, noop), tool("bash", loop.Once, noop), tool("read", loop.Repeat, noop)}})
	run(t, l)
	var names []string
	for _, s := range m.requests[0].Tools {
		names = append(names, s.Name)
	}
	testkit.Equal(t, "names", []string{"bash", "read", "zip"}, names)
	for _, bad := range [][]loop.Tool{
		{tool("read", loop.Once, noop), tool("read", loop.Repeat, noop)},
		{tool("", loop.Once, noop)},
		{{Spec: loop.Spec{Name: "read"}}},
		{tool("read", 7, noop)},
	} {
		_, err := loop.New(l.Session(), loop.Config{Model: m, Tools: bad})
		testkit.WantErr(t, err, core.ErrInvalid)
	}
}

// RATH-21
func TestTypedArgumentsFollowTheirSchema(t *testing.T) {
	t.Parallel()
	type args struct {
		Path string `json:"path" jsonschema:"the file to read"`
		From int    `json:"from,omitempty"`
	}
	var got []args
	read, err := loop.NewTool("read", "Reads a file.", loop.Repeat, func(_ context.Context, a args) (any, error) {
		got = append(got, a)
		return loop.File{Data: a.Path}, nil
	})
	testkit.Must(t, err)
	if !strings.Contains(string(read.Schema), `"description":"the file to read"`) || !strings.Contains(string(read.Schema), `"required":["path"]`) {
		t.Errorf("schema %s", read.Schema)
	}
	l := started(t, loop.Config{Tools: []loop.Tool{read}, Model: &script{replies: []loop.Reply{calls(
		loop.Call{ID: "1", Name: "read", Arguments: `{"path":"a","from":7}`},
		loop.Call{ID: "2", Name: "read", Arguments: `{"path":7}`},
		loop.Call{ID: "3", Name: "read", Arguments: `{}`},
	), says("done")}}})
	run(t, l)
	testkit.Equal(t, "arguments", []args{{"a", 7}}, got)
	rows := results(l)
	for i, row := range rows[1:] {
		if !strings.Contains(row, `"error_kind": "invalid_tool_arguments"`) {
			t.Errorf("result %d: %s", i+2, row)
		}
	}
	if _, err := loop.NewTool("bad", "", loop.Once, func(context.Context, struct{ C chan int }) (any, error) { return nil, nil }); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("arguments without a schema: %v", err)
	}
}

// RATH-17: the transcript is there while a tool runs, also through the output.
func TestToolReadsItsOwnSession(t *testing.T) {
	t.Parallel()
	var o *loop.Output
	ready := make(chan struct{})
	var seen []string
	look := tool("look", loop.Repeat, func(ctx context.Context) (any, error) {
		<-ready
		ms, err := o.Messages(ctx)
		seen = append(seen, roles(loop.Transcript(ctx)), roles(ms))
		return true, err
	})
	l := started(t, loop.Config{Tools: []loop.Tool{look}, Model: &script{replies: []loop.Reply{calls(call("1", "look"), call("2", "look")), says("done")}}})
	o = l.Go(t.Context())
	close(ready)
	r, err := o.Result(t.Context())
	testkit.Must(t, err)
	if r.Reason != loop.Stopped {
		t.Errorf("result %+v", r)
	}
	testkit.Equal(t, "transcripts", []string{
		"user assistant", "user assistant", "user assistant tool_result", "user assistant tool_result",
	}, seen)
	if loop.Transcript(t.Context()) != nil {
		t.Error("there is a transcript outside of a run")
	}
}

// RATH-16: the output is there at once; waiting for it is safe from any number of
// goroutines, and its error is returned once.
func TestOutputIsLazy(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	wait := tool("wait", loop.Repeat, func(context.Context) (any, error) { <-gate; return true, nil })
	reply := calls(call("1", "wait"))
	reply.Usage = &loop.Usage{Total: 7}
	l := started(t, loop.Config{Tools: []loop.Tool{wait}, Model: &script{replies: []loop.Reply{reply}}})
	o := l.Go(t.Context())
	if h := o.Loop().Session().Header(); len(h.Parents) != 2 {
		t.Errorf("parents %q", h.Parents)
	}
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Synchronize(short); !errors.Is(err, context.Canceled) {
		t.Errorf("Synchronize returned %v before the run was over", err)
	}
	close(gate)
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = o.Synchronize(t.Context()) })
	}
	all.Wait()
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(failed) != 1 || !errors.Is(failed[0], errScript) {
		t.Errorf("errors %v, want one", failed)
	}
	ms, err := o.Messages(t.Context())
	testkit.Must(t, err)
	testkit.Equal(t, "rows that were reached", "user assistant tool_result", roles(ms))
	r, err := o.Result(t.Context())
	testkit.Must(t, err)
	testkit.Equal(t, "usage that was reached", loop.Result{Usage: reply.Usage}, r)
}

// RATH-17: a tool that runs an inner loop is in both runs.
func TestToolOfAnInnerLoopReadsTheOuterOne(t *testing.T) {
	t.Parallel()
	begun := make(chan *loop.Output, 1)
	look := tool("look", loop.Repeat, func(ctx context.Context) (any, error) {
		o := <-begun
		ms, err := o.Messages(ctx)
		testkit.Must(t, err)
		testkit.Equal(t, "rows of the outer loop", "user assistant", roles(ms))
		testkit.Equal(t, "rows of the inner loop", "assistant", roles(loop.Transcript(ctx)))
		testkit.WantErr(t, o.Loop().Say(ctx, "more"), core.ErrInvalid)
		return true, nil
	})
	delegate := tool("delegate", loop.Repeat, func(ctx context.Context) (any, error) {
		inner, err := loop.Start(ctx, newLog(), openrath.Session{ID: userID}, agent, loop.Config{
			Tools: []loop.Tool{look}, Model: &script{replies: []loop.Reply{calls(call("2", "look")), says("inner")}},
		}, session.Options{})
		testkit.Must(t, err)
		r, err := inner.Run(ctx)
		return r.Text, err
	})
	o := started(t, loop.Config{Tools: []loop.Tool{delegate}, Model: &script{replies: []loop.Reply{calls(call("1", "delegate")), says("outer")}}}).Go(t.Context())
	begun <- o
	r, err := o.Result(t.Context())
	testkit.Must(t, err)
	testkit.Equal(t, "text", "outer", r.Text)
}
