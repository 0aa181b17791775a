//go:build unix

package interop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A contest is a session with which two hosts work.
type contest struct {
	agent string
	// first works on host a until it has an answer, its second, that it gets after
	// proceed.
	first   func() harness.Result
	asked   func() int // requests of both hosts
	proceed chan struct{}
	// second resumes the session on host b.
	second func(id string, flags ...string) harness.Result
	// own returns what host a has of the session, if the agent's sessions have no heads.
	own func() string
}

var saidOn = regexp.MustCompile("Said on .")

// The second host is told who has the session. If it takes over, later lines of the
// first go to a separate head, and both are kept. Sessions of Codex and opencode have
// no other head than main: the first host then keeps its lines, and is told so.
func (c *contest) play(t *testing.T, node *client.Client) {
	t.Helper()
	done := make(chan harness.Result, 1)
	go func() { done <- c.first() }()
	for ctx := agentTimeout(t); c.asked() < 2 && ctx.Err() == nil && len(done) == 0; {
		time.Sleep(20 * time.Millisecond)
	}
	id := ""
	harness.Await(t, "the log has the result of the call", func() error {
		list, err := node.List(t.Context(), catalog.Filter{})
		if err != nil || len(list.Sessions) != 1 {
			return fmt.Errorf("sessions are %+v, %w", list.Sessions, err)
		}
		id = string(list.Sessions[0].ID)
		text, err := node.Context(t.Context(), id, client.View{})
		if err == nil && !strings.Contains(string(text), "printed forty-two") {
			err = fmt.Errorf("the session is %s", text)
		}
		return err
	})
	if r := c.second(id); r.Code != 6 || !strings.Contains(r.Err, "is held by "+c.agent) || !strings.Contains(r.Err, "--take-over") {
		t.Errorf("the second host is told %s", r)
	}
	if r := c.second(id, "--take-over"); r.Code != 0 || !strings.Contains(r.Err, "is in the log, head main") {
		t.Errorf("after the take-over: %s", r)
	}
	close(c.proceed)
	r := <-done
	wantCode, wantText := 0, "so your lines are on head main-"
	if c.own != nil {
		wantCode, wantText = 1, "is not in the log as it is in"
	}
	if r.Code != wantCode || !strings.Contains(r.Err, wantText) {
		t.Errorf("the first host is told %s", r)
	}
	hs, err := node.Heads(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, h := range hs.Heads {
		text, err := node.Context(t.Context(), id, client.View{Head: h.Head})
		if err != nil {
			t.Fatal(err)
		}
		said[h.Head] = strings.Join(saidOn.FindAllString(string(text), -1), " and ")
	}
	_, own, _ := strings.Cut(r.Err, "so your lines are on head ")
	own, _, _ = strings.Cut(own, " ")
	if c.own != nil {
		said[own] = strings.Join(slices.Compact(saidOn.FindAllString(c.own(), -1)), " and ")
	}
	if said["main"] != "Said on b" || said[own] != "Said on a" {
		t.Errorf("the heads say %q; those of a are on %q", said, own)
	}
}

// printing is a command whose output is not part of it.
const printing = "echo printed forty''-two"

func TestClaudeOnTwoHosts(t *testing.T) {
	t.Parallel()
	program := claudeCode(t)
	node, proceed := harness.StartNode(t), make(chan struct{})
	m := newMessagesModel(t,
		messagesAnswer{blocks: []map[string]any{bash("toolu_1", printing)}},
		messagesAnswer{blocks: []map[string]any{textBlock("Said on a.")}, after: proceed},
		messagesAnswer{blocks: []map[string]any{textBlock("Said on b.")}},
	)
	a, b := newClaudeHost(t, node, program, "project", m), newClaudeHost(t, node, program, "project", m)
	c := &contest{agent: "claude", asked: m.count, proceed: proceed}
	c.first = func() harness.Result { return a.runs(t, []string{"run"}, "wait") }
	c.second = func(id string, flags ...string) harness.Result {
		return b.runs(t, append([]string{"resume", id, "--cwd", b.project}, flags...), "mine now")
	}
	c.play(t, node.Client())
}

func TestCodexOnTwoHosts(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program := codexCLI(t)
	node, proceed := harness.StartNode(t), make(chan struct{})
	m := newResponsesModel(t,
		responsesAnswer{items: []map[string]any{codexRuns("call_1", printing)}},
		responsesAnswer{items: []map[string]any{codexSays("Said on a.")}, after: proceed},
		responsesAnswer{items: []map[string]any{codexSays("Said on b.")}},
	)
	a, b := newCodexHost(t, node, program, "project", m, ""), newCodexHost(t, node, program, "project", m, "")
	c := &contest{agent: "codex", asked: m.count, proceed: proceed}
	c.own = func() string { return a.text(t) }
	c.first = func() harness.Result {
		return a.sessctl(t, "run", "--", program, "exec", "--skip-git-repo-check", "wait")
	}
	c.second = func(id string, flags ...string) harness.Result { return b.next(t, "mine now", id, flags...) }
	c.play(t, node.Client())
}

func TestOpencodeOnTwoHosts(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program := opencodeCLI(t)
	node, proceed := harness.StartNode(t), make(chan struct{})
	m := newChatModel(t,
		chatAnswer{calls: []chatCall{runsShell(printing)}},
		chatAnswer{says: "Said on a.", after: proceed},
		chatAnswer{says: "Said on b."},
	)
	a, b := newOpencodeHost(t, node, program, "project", m), newOpencodeHost(t, node, program, "project", m)
	c := &contest{agent: "opencode", asked: m.count, proceed: proceed}
	c.own = func() string { return fmt.Sprint(a.events(t)) }
	c.first = func() harness.Result {
		return a.sessctl(t, append(append([]string{"run", "--"}, a.opencodeRun()...), "wait")...)
	}
	c.second = func(id string, flags ...string) harness.Result { return b.next(t, "mine now", id, flags...) }
	c.play(t, node.Client())
}
