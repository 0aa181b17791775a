package loop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

// RATH-18, RATH-19: the rows of the agent are in the request and not in the
// session, which names both of its parents.
func TestRunAppendsRowsAfterThoseOfTheUser(t *testing.T) {
	t.Parallel()
	m := &script{replies: []loop.Reply{calls(call("c1", "look")), says("done")}}
	look := tool("look", loop.Repeat, func(context.Context) (any, error) { return true, nil })
	l := started(t, loop.Config{Model: m, Tools: []loop.Tool{look}})
	r := run(t, l)
	if r.Reason != loop.Stopped || r.Text != "done" {
		t.Errorf("result %+v", r)
	}
	testkit.Equal(t, "roles of the rows", "user assistant tool_result assistant", roles(l.Messages()))
	testkit.Equal(t, "roles of the last request", "system user assistant tool_result", roles(m.requests[1].Messages))
	testkit.Equal(t, "rows", []string{
		`user {"content": "go"}`,
		`assistant {"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}`,
		`tool_result {"tool_call_id": "c1", "name": "look", "content": "{\"ok\": true}"}`,
		`assistant {"content": "done", "tool_calls": null}`,
	}, payloads(t, l.Session().Entries()))
	h := l.Session().Header()
	testkit.Equal(t, "parents", []string{userID, agentID}, h.Parents)
	testkit.Equal(t, "kind", "loop", h.Lineage)
	if !strings.Contains(string(h.Line), `"lineage_operator": "run_session_loop", "lineage_kind": "op_session_loop"`) {
		t.Errorf("header %s", h.Line)
	}
}

// RATH-20
func TestRunStopsAsTheModelSays(t *testing.T) {
	t.Parallel()
	for _, f := range []loop.Finish{loop.FinishStop, loop.FinishLength, loop.FinishFilter} {
		l := started(t, loop.Config{Model: &script{replies: []loop.Reply{{Text: "a", Finish: "pause"}, {Text: "b", Finish: f}}}})
		r := run(t, l)
		if string(r.Reason) != string(f) || r.Text != "b" || len(l.Messages()) != 3 {
			t.Errorf("%s: %+v, %d rows", f, r, len(l.Messages()))
		}
	}
}

// RATH-20
func TestRunStopsAfterMaxRounds(t *testing.T) {
	t.Parallel()
	m := &script{replies: []loop.Reply{calls(call("a", "look")), calls(call("b", "look")), says("never")}}
	look := tool("look", loop.Repeat, func(context.Context) (any, error) { return true, nil })
	for rounds, rows := range map[int]int{2: 5, -1: 1} {
		l := started(t, loop.Config{Model: m, Tools: []loop.Tool{look}, MaxRounds: rounds})
		if r := run(t, l); r.Reason != loop.Truncated || len(l.Messages()) != rows {
			t.Errorf("%d rounds: %+v, %d rows", rounds, r, len(l.Messages()))
		}
		testkit.Must(t, l.Close(t.Context()))
		es := l.Session().Entries()
		if last := string(es[len(es)-1].Line); !strings.Contains(last, `"lineage_extras": [["loop.truncated", true]]`) {
			t.Errorf("trailer %s", last)
		}
		info, err := openrath.Dialect{}.Info(l.Session().Header(), es, core.Leaf{})
		if err != nil || !strings.Contains(string(info.Own), `"extras":[["loop.truncated",true]]`) {
			t.Errorf("info %s, %v", info.Own, err)
		}
	}
}

// RATH-33: a run that is over ends with a trailer, one that failed does not.
func TestCloseWritesTrailerOnlyAfterTheRun(t *testing.T) {
	t.Parallel()
	u := &loop.Usage{Prompt: 3, Completion: 2, Total: 5}
	l := started(t, loop.Config{Model: &script{replies: []loop.Reply{{Text: "done", Usage: u, Finish: loop.FinishStop}}}})
	run(t, l)
	testkit.Must(t, l.Close(t.Context()))
	es := l.Session().Entries()
	if last := es[len(es)-1]; !last.Aside || !strings.Contains(string(last.Line), `"final_chunk_count": 2, "cumulative_usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}`) {
		t.Errorf("trailer %s", last.Line)
	}
	l = started(t, loop.Config{Model: &script{}})
	_, err := l.Run(t.Context())
	if e, ok := errors.AsType[*loop.ModelError](err); !ok || !errors.Is(e, errScript) {
		t.Errorf("error %v", err)
	}
	testkit.Must(t, l.Close(t.Context()))
	if es := l.Session().Entries(); len(es) != 1 {
		t.Errorf("%d entries, want the user's", len(es))
	}
}

// RATH-28
func TestUsageAndBudget(t *testing.T) {
	t.Parallel()
	reply := func(total int64, f loop.Finish) loop.Reply {
		return loop.Reply{Text: "x", Finish: f, Usage: &loop.Usage{Prompt: total - 1, Completion: 1, Total: total}}
	}
	m := &script{replies: []loop.Reply{reply(60, "pause"), reply(60, "pause"), reply(60, "pause"), reply(5, loop.FinishStop)}}
	var fired []int64
	l := started(t, loop.Config{Model: m, Budget: 100, OverBudget: func(u loop.Usage) error {
		fired = append(fired, u.Total)
		return nil
	}})
	r := run(t, l)
	testkit.Equal(t, "usage", &loop.Usage{Prompt: 181, Completion: 4, Total: 185}, r.Usage)
	testkit.Equal(t, "calls of OverBudget", []int64{120}, fired)

	tooMuch := errors.New("too much")
	l = started(t, loop.Config{Model: m, Budget: 100, OverBudget: func(loop.Usage) error { return tooMuch }})
	_, err := l.Run(t.Context())
	if e, ok := errors.AsType[*loop.BudgetError](err); !ok || e.Usage.Total != 120 || !errors.Is(err, tooMuch) {
		t.Errorf("error %v", err)
	}
	if got := run(t, l); got.Usage.Total != 185 {
		t.Errorf("the run continues to %+v", got)
	}
	l = started(t, loop.Config{Model: &script{replies: []loop.Reply{says("x")}}})
	if r := run(t, l); r.Usage != nil {
		t.Errorf("usage %+v of replies without any", r.Usage)
	}

	// If the program stops because of the budget, the session has no trailer.
	l = started(t, loop.Config{Model: &script{replies: []loop.Reply{reply(120, loop.FinishStop)}}, Budget: 100, OverBudget: func(loop.Usage) error { return tooMuch }})
	_, err = l.Run(t.Context())
	testkit.WantErr(t, err, tooMuch)
	testkit.Must(t, l.Close(t.Context()))
	testkit.Equal(t, "rows", 2, len(l.Session().Entries()))
}

// RATH-28: also a reply that the log could not take at first, or whose host died,
// exceeds the budget.
func TestBudgetSurvivesFailures(t *testing.T) {
	t.Parallel()
	over := loop.Reply{Finish: "pause", Usage: &loop.Usage{Total: 120}}
	for _, died := range []bool{false, true} {
		log, fired := &stoppedLog{Log: newLog(), late: died}, 0
		c := loop.Config{
			Model:  &script{replies: []loop.Reply{over, says("done")}, asked: func() { log.err = core.ErrUnavailable }},
			Budget: 100, OverBudget: func(loop.Usage) error { fired++; return nil }, RetryFor: time.Nanosecond,
		}
		l, err := loop.Start(t.Context(), log, user, agent, c, session.Options{})
		testkit.Must(t, err)
		_, err = l.Run(t.Context())
		testkit.WantErr(t, err, core.ErrUnavailable)
		testkit.Equal(t, "calls of OverBudget before the reply is durable", 0, fired)
		log.err, c.Model.(*script).asked = nil, nil
		if died {
			s, err := session.Open(t.Context(), log, l.Session().ID(), session.Options{Access: session.TakeOver})
			testkit.Must(t, err)
			l, err = loop.New(s, c)
			testkit.Must(t, err)
		}
		testkit.Equal(t, "text", "done", run(t, l).Text)
		testkit.Equal(t, "calls of OverBudget", 1, fired)
	}
}

// RATH-18: the rows of the user may be those of another run. Then the model is asked
// after its last reply, MaxRounds counts only new rounds, and a call of that run that has
// no result may have run.
func TestStartContinuesTheOutputOfAnotherRun(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]openrath.Chunk{
		"user assistant assistant":                         openrath.AssistantTurn(new("one")),
		"user assistant tool_result tool_result assistant": openrath.AssistantTurn(nil, openrath.ToolCall{ID: "1", Name: "send", Arguments: "{}"}, openrath.ToolCall{ID: "2", Name: "read", Arguments: "{}"}),
	} {
		log, ran := newLog(), []string{}
		did := func(name string, p loop.Policy) loop.Tool {
			return tool(name, p, func(context.Context) (any, error) { ran = append(ran, name); return true, nil })
		}
		c := loop.Config{
			Model: &script{replies: []loop.Reply{{}, says("two")}}, MaxRounds: 1,
			Tools: []loop.Tool{did("send", loop.Once), did("read", loop.Repeat)},
		}
		l, err := loop.Start(t.Context(), log, openrath.Session{ID: userID, Rows: user.Rows.Extend(last)}, agent, c, session.Options{})
		testkit.Must(t, err)
		s, err := session.Open(t.Context(), log, l.Session().ID(), session.Options{Access: session.TakeOver})
		testkit.Must(t, err)
		l, err = loop.New(s, c)
		testkit.Must(t, err)
		r := run(t, l)
		testkit.Equal(t, "rows", name, roles(l.Messages()))
		if r.Text != "two" || r.Reason != loop.Stopped || slices.Contains(ran, "send") {
			t.Errorf("%s: %+v, ran %q", name, r, ran)
		}
	}
}

// A streamed is a script that shows its texts a character at a time.
type streamed struct{ script }

func (s *streamed) Stream(ctx context.Context, q loop.Request, show func(loop.Delta)) (loop.Reply, error) {
	r, err := s.Complete(ctx, q)
	for _, c := range r.Text {
		show(loop.Delta{Text: string(c)})
	}
	return r, err
}

// RATH-27
func TestStreamShowsDeltasAndAppendsOneRow(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	l := started(t, loop.Config{
		Model:   &streamed{script{replies: []loop.Reply{says("hello")}}},
		OnDelta: func(d loop.Delta) { shown.WriteString(d.Text + "|") },
	})
	run(t, l)
	testkit.Equal(t, "deltas", "h|e|l|l|o|", shown.String())
	testkit.Equal(t, "rows", []string{`user {"content": "go"}`, `assistant {"content": "hello", "tool_calls": null}`}, payloads(t, l.Session().Entries()))

	log := newLog()
	_, err := loop.Start(t.Context(), log, openrath.FromUserMessage(userID, "go"), openrath.Session{ID: agentID},
		loop.Config{Model: &script{}, OnDelta: func(loop.Delta) {}}, session.Options{ID: "33333333-3333-4333-8333-333333333333"})
	testkit.WantErr(t, err, core.ErrInvalid)
	if _, err := log.Load(t.Context(), "33333333-3333-4333-8333-333333333333"); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a refused start left a session: %v", err)
	}
}

func TestLoopNeedsClaimedSessionOfOpenRath(t *testing.T) {
	t.Parallel()
	c := loop.Config{Model: &script{}}
	pi, err := session.Create(t.Context(), newLog(), "/", session.Options{})
	testkit.Must(t, err)
	_, err = loop.New(pi, c)
	testkit.WantErr(t, err, core.ErrInvalid)
	shared, err := session.Create(t.Context(), newLog(), "/", session.Options{Dialect: "openrath", ID: loop.NewID(), Access: session.Shared})
	testkit.Must(t, err)
	_, err = loop.New(shared, c)
	testkit.WantErr(t, err, core.ErrInvalid)
	_, err = loop.New(shared, loop.Config{})
	testkit.WantErr(t, err, core.ErrInvalid)
}

// One session takes any number of messages of the user.
func TestSayContinuesTheConversation(t *testing.T) {
	t.Parallel()
	s, err := session.Create(t.Context(), newLog(), "/", session.Options{Dialect: "openrath", ID: loop.NewID()})
	testkit.Must(t, err)
	l, err := loop.New(s, loop.Config{Model: &script{replies: []loop.Reply{says("one"), says("two")}}, MaxRounds: 1})
	testkit.Must(t, err)
	for _, want := range []string{"one", "two"} {
		testkit.Must(t, l.Say(t.Context(), "next"))
		if r := run(t, l); r.Text != want || r.Reason != loop.Stopped {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	if r := run(t, l); r.Text != "two" || len(l.Messages()) != 4 {
		t.Errorf("a run with nothing to do: %+v, %d rows", r, len(l.Messages()))
	}
}
