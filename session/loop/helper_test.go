package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
)

const userID, agentID = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"

func newLog() session.Log {
	return engine.NewLocal(engine.NewSessions(engine.Config{Log: engine.Plain(memlog.New("test")), Dialects: dialect.All()}), nil)
}

// A script is a model that gives its replies in order: the one after n replies in
// the request is reply n.
type script struct {
	replies []loop.Reply
	err     error // after the last
	asked   func()

	mu       sync.Mutex
	requests []loop.Request
}

var errScript = errors.New("the script is over")

func (s *script) Complete(_ context.Context, q loop.Request) (loop.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, q)
	if s.asked != nil {
		s.asked()
	}
	n := 0
	for _, m := range q.Messages {
		if m.Role == loop.Assistant {
			n++
		}
	}
	if n < len(s.replies) {
		return s.replies[n], nil
	}
	if s.err == nil {
		return loop.Reply{}, errScript
	}
	return loop.Reply{}, s.err
}

func says(text string) loop.Reply { return loop.Reply{Text: text, Finish: loop.FinishStop} }

func calls(cs ...loop.Call) loop.Reply { return loop.Reply{Calls: cs, Finish: loop.FinishTools} }

func call(id, name string) loop.Call { return loop.Call{ID: id, Name: name, Arguments: "{}"} }

// tool returns a tool that runs f.
func tool(name string, p loop.Policy, f func(context.Context) (any, error)) loop.Tool {
	return loop.Tool{
		Spec: loop.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}, Policy: p,
		Run: func(ctx context.Context, _ json.RawMessage) (any, error) { return f(ctx) },
	}
}

// started returns a loop in a new session whose user said go.
func started(t testing.TB, c loop.Config) *loop.Loop {
	t.Helper()
	l, err := loop.Start(t.Context(), newLog(), openrath.FromUserMessage(userID, "go"), openrath.FromAgentPrompt(agentID, "be kind"), c, session.Options{})
	testkit.Must(t, err)
	return l
}

func run(t testing.TB, l *loop.Loop) loop.Result {
	t.Helper()
	r, err := l.Run(t.Context())
	testkit.Must(t, err)
	return r
}

// payloads returns kind and payload of each row, as they are stored.
func payloads(t testing.TB, es []core.Entry) []string {
	t.Helper()
	var out []string
	for _, e := range es {
		if e.Aside {
			continue
		}
		var row struct {
			Payload json.RawMessage `json:"payload"`
		}
		testkit.Must(t, json.Unmarshal(e.Line, &row))
		out = append(out, e.Type+" "+string(row.Payload))
	}
	return out
}

// results returns the contents of the rows of tools.
func results(l *loop.Loop) []string {
	var out []string
	for _, m := range l.Messages() {
		if m.Role == loop.ToolResult {
			out = append(out, m.Text)
		}
	}
	return out
}

func roles(ms []loop.Message) string {
	var names []string
	for _, m := range ms {
		names = append(names, string(m.Role))
	}
	return strings.Join(names, " ")
}
