package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// A world is what hosts act on: it outlives them.
type world struct {
	log session.Log
	id  core.SessionID

	mu   sync.Mutex
	done map[string]int // how often each call took effect
	bad  []string
}

// follows notes an error unless the log has rows at least, the last of which
// contain each text.
func (w *world) follows(what string, rows int, texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	have, err := w.log.Load(context.Background(), w.id)
	all := string(bytes.Join(have.Lines, nil))
	for _, text := range texts {
		if !strings.Contains(all, text) {
			w.bad = append(w.bad, what+" before a row has "+text)
		}
	}
	if err != nil || len(have.Lines) < rows {
		w.bad = append(w.bad, fmt.Sprintf("%s with %d rows, %d are stored, %v", what, rows, len(have.Lines), err))
	}
}

// A host is a process that dies at one of its actions: before it, or after it and
// before it learns the outcome.
type host struct {
	session.Log
	w *world

	mu    sync.Mutex
	left  int // actions until it dies; negative for never
	after bool
	dead  bool
}

var errDead = errors.New("the host is dead")

// act does f unless the host is dead or dies before it.
func (h *host) act(f func() error) error {
	h.mu.Lock()
	dies := h.left == 0
	h.left--
	if h.dead || dies && !h.after {
		h.dead = true
		h.mu.Unlock()
		return errDead
	}
	h.dead = dies
	h.mu.Unlock()
	if err := f(); err != nil {
		return err
	}
	if dies {
		return errDead
	}
	return nil
}

func (h *host) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (r core.Receipt, err error) {
	err = h.act(func() error { r, err = h.Log.Append(ctx, id, w, lines); return err })
	return r, err
}

func (h *host) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (c core.Cursor, err error) {
	err = h.act(func() error { c, err = h.Log.Amend(ctx, id, w, lines); return err })
	return c, err
}

// tool returns a tool that notes each run of a call.
func (h *host) tool(name string, p loop.Policy) loop.Tool {
	return loop.Tool{Spec: loop.Spec{Name: name}, Policy: p, Key: func(c loop.Call) (string, error) { return c.Name, nil }, Run: func(ctx context.Context, args json.RawMessage) (any, error) {
		return true, h.act(func() error {
			texts := []string{strings.ReplaceAll(string(args), `"`, `\"`)}
			if p != loop.Repeat {
				texts = append(texts, `"started":[`)
			}
			h.w.follows(name, rowsBefore(loop.Transcript(ctx), name, string(args)), texts...)
			h.w.mu.Lock()
			defer h.w.mu.Unlock()
			h.w.done[name+string(args)]++
			return nil
		})
	}}
}

// rowsBefore returns how many rows a call depends on: those up to its reply, and up to
// the result of the call before it with the same key. Rows of other calls may follow
// that the log does not have yet.
func rowsBefore(rows []loop.Message, name, args string) (n int) {
	for i, m := range rows {
		if !slices.ContainsFunc(m.Calls, func(c loop.Call) bool { return c.Arguments == args }) {
			continue
		}
		n = i + 1
		for j, c := range m.Calls {
			if c.Arguments == args {
				break
			}
			if c.Name == name {
				n = i + 1 + j + 1
			}
		}
	}
	return n
}

func (h *host) Complete(ctx context.Context, q loop.Request) (r loop.Reply, err error) {
	err = h.act(func() error {
		h.w.follows("request", len(q.Messages))
		r, err = crashScript.Complete(ctx, q)
		return err
	})
	return r, err
}

var crashScript = &script{replies: []loop.Reply{
	calls(numbered("send", 1), numbered("write", 2), numbered("send", 3)),
	calls(numbered("mail", 4)),
	{Text: "half", Finish: "pause"},
	calls(numbered("write", 5), numbered("write", 6)),
	says("done"),
}}

func numbered(name string, n int) loop.Call {
	return loop.Call{ID: fmt.Sprint("c", n), Name: name, Arguments: fmt.Sprintf(`{"n":%d}`, n)}
}

// live continues the session on a new host until it is done or the host is dead.
func (w *world) live(t *testing.T, left int, after bool) (rows []string, err error) {
	h := &host{Log: w.log, w: w, left: left, after: after}
	s, err := session.Open(t.Context(), h, w.id, session.Options{Access: session.TakeOver})
	testkit.Must(t, err)
	l, err := loop.New(s, loop.Config{
		Model: h, Tools: []loop.Tool{h.tool("send", loop.Once), h.tool("mail", loop.Ask), h.tool("write", loop.Repeat)},
		Ask: func(context.Context, loop.Call) (bool, error) { return true, nil },
	})
	testkit.Must(t, err)
	_, err = l.Run(t.Context())
	return payloads(t, s.Entries()), err
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{log: newLog(), id: core.SessionID(loop.NewID()), done: map[string]int{}}
	s, err := session.Create(t.Context(), w.log, "/", session.Options{Dialect: "openrath", ID: string(w.id)})
	testkit.Must(t, err)
	_, err = s.AppendLine(t.Context(), []byte(`{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "go"}}`))
	testkit.Must(t, err)
	return w
}

// Hosts die at each of their actions: requests to the model, tools, and writes to
// the log, before and after each. The last one ends with the rows of a host that
// never died, except that a call of a tool of the policy once that may have run is
// an error row; and no such call ran twice.
func TestRunSurvivesTheDeathOfItsHostAtEveryAction(t *testing.T) {
	t.Parallel()
	want, err := newWorld(t).live(t, -1, false)
	testkit.Must(t, err)
	for _, after := range []bool{false, true} {
		for first := 0; ; first++ {
			w := newWorld(t)
			_, err := w.live(t, first, after)
			if err == nil {
				if first < 15 {
					t.Errorf("a run has %d actions", first)
				}
				break
			}
			testkit.WantErr(t, err, errDead)
			_, _ = w.live(t, first%5, !after) // and the next one, somewhere else
			have, err := w.live(t, -1, false)
			testkit.Must(t, err)
			w.check(t, fmt.Sprintf("death at action %d, after it %v", first, after), want, have)
		}
	}
}

// check compares the rows of a world with those of one without deaths.
func (w *world) check(t *testing.T, what string, want, have []string) {
	t.Helper()
	for i := range min(len(want), len(have)) {
		if strings.Contains(have[i], `"name": "send", "content": "{\"ok\": false, \"error_kind\": \"interrupted\"`) {
			have[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s: rows (-want +got):\n%s", what, diff)
	}
	for _, bad := range w.bad {
		t.Errorf("%s: %s", what, bad)
	}
	for call, n := range w.done {
		if strings.HasPrefix(call, "send") && n > 1 {
			t.Errorf("%s: %s ran %d times", what, call, n)
		}
	}
	for _, call := range []string{`mail{"n":4}`, `write{"n":2}`, `write{"n":5}`, `write{"n":6}`} {
		if w.done[call] == 0 {
			t.Errorf("%s: %s never ran", what, call)
		}
	}
}

// A call that was started needs a decision if its tool says so, and the run can
// continue once there is one.
func TestStartedCallOfAskingToolNeedsDecision(t *testing.T) {
	t.Parallel()
	mail := func(ran *int, err error) loop.Tool {
		return tool("mail", loop.Ask, func(context.Context) (any, error) { *ran++; return true, err })
	}
	for _, again := range []bool{true, false} {
		log, id := newLog(), loop.NewID()
		m := &script{replies: []loop.Reply{calls(call("c1", "mail")), says("done")}}
		h := &host{Log: log, left: 1, after: true} // it dies after the note that the call starts
		l, err := loop.Start(t.Context(), h, user, agent, loop.Config{Model: m, Tools: []loop.Tool{mail(new(int), nil)}}, session.Options{ID: id})
		testkit.Must(t, err)
		_, err = l.Run(t.Context())
		testkit.WantErr(t, err, errDead)

		var ran int
		c := loop.Config{Model: m, Tools: []loop.Tool{mail(&ran, nil)}}
		s, err := session.Open(t.Context(), log, core.SessionID(id), session.Options{Access: session.TakeOver})
		testkit.Must(t, err)
		l, err = loop.New(s, c)
		testkit.Must(t, err)
		_, err = l.Run(t.Context())
		if e, ok := errors.AsType[*loop.AskError](err); !ok || e.Call.ID != "c1" {
			t.Fatalf("error %v", err)
		}
		testkit.WantErr(t, l.Say(t.Context(), "well?"), core.ErrInvalid) // the call comes first
		c.Ask = func(context.Context, loop.Call) (bool, error) { return again, nil }
		l, err = loop.New(s, c)
		testkit.Must(t, err)
		run(t, l)
		if text := results(l)[0]; again != (text == `{"ok": true}`) || again != (ran == 1) {
			t.Errorf("again %v: ran %d times, result %s", again, ran, text)
		}
	}
}

// A host that another one has replaced stops before its next tool with an error that
// names the other, whether it was replaced during a call or while the model replied.
func TestFencedLoopStopsBeforeItsNextCall(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"call", "reply"} {
		log := newLog()
		var l *loop.Loop
		takeOver := func(now string) {
			if now == when {
				_, err := session.Open(t.Context(), log, l.Session().ID(), session.Options{Access: session.TakeOver, Agent: "successor", Host: "elsewhere"})
				testkit.Must(t, err)
			}
		}
		first := tool("first", loop.Repeat, func(context.Context) (any, error) {
			if when == "reply" {
				t.Error("a fenced loop ran a tool")
			}
			takeOver("call")
			return true, nil
		})
		never := tool("never", loop.Repeat, func(context.Context) (any, error) { t.Error("a fenced loop ran a tool"); return true, nil })
		m := &script{replies: []loop.Reply{calls(call("1", "first"), call("2", "never"))}, asked: func() { takeOver("reply") }}
		l, err := loop.Start(t.Context(), log, user, agent, loop.Config{Model: m, Tools: []loop.Tool{first, never}}, session.Options{})
		testkit.Must(t, err)
		for range 2 { // it stays fenced
			_, err = l.Run(t.Context())
			e, ok := errors.AsType[*core.FencedError](err)
			if !ok || e.Holder == nil || !strings.Contains(err.Error(), "successor") {
				t.Fatalf("error %v", err)
			}
		}
	}
}

// A log that cannot be reached for a while, or whose answers are lost, delays a run.
func TestRunWaitsForTheLog(t *testing.T) {
	t.Parallel()
	shaky := &shakyLog{Log: newLog()}
	c := loop.Config{
		Model: &script{replies: []loop.Reply{calls(call("1", "send")), says("done")}},
		Tools: []loop.Tool{tool("send", loop.Once, func(context.Context) (any, error) { return true, nil })},
	}
	l, err := loop.Start(t.Context(), shaky, user, agent, c, session.Options{})
	testkit.Must(t, err)
	run(t, l)
	testkit.Equal(t, "rows", "user assistant tool_result assistant", roles(l.Messages()))
	s, err := session.Open(t.Context(), shaky.Log, l.Session().ID(), session.Options{Access: session.ReadOnly})
	testkit.Must(t, err)
	testkit.Equal(t, "stored rows", payloads(t, l.Session().Entries()), payloads(t, s.Entries()))
}

// A shakyLog is unavailable for each first write, and loses the answer of each
// second one.
type shakyLog struct {
	session.Log
	n int
}

func (l *shakyLog) write(f func() error) error {
	l.n++
	switch l.n % 3 {
	case 1:
		return core.ErrUnavailable
	case 2:
		if err := f(); err != nil {
			return err
		}
		return core.ErrUncertain
	}
	return f()
}

func (l *shakyLog) Append(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (r core.Receipt, err error) {
	err = l.write(func() error { r, err = l.Log.Append(ctx, id, w, lines); return err })
	return r, err
}

func (l *shakyLog) Amend(ctx context.Context, id core.SessionID, w session.Writing, lines [][]byte) (c core.Cursor, err error) {
	err = l.write(func() error { c, err = l.Log.Amend(ctx, id, w, lines); return err })
	return c, err
}
