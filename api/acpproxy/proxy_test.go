package acpproxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/api/acpproxy"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// An editor is connected to an agent through a proxy. It fails the test if a message
// does not fit the schema.
type editor struct {
	t    *testing.T
	conn *acp.Connection
	sent *lockedBuffer // what it has sent
	stop func()

	mu      sync.Mutex
	updates []json.RawMessage // params of session/update
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// pipes runs a proxy with an agent, and returns the editor's end.
func pipes(t *testing.T, node *client.Client, host string, home *agentHome, takeOver bool) (in io.Reader, out io.Writer, stop func()) {
	t.Helper()
	fromEditor, toProxy := io.Pipe()
	fromProxy, toEditor := io.Pipe()
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	a := &scripted{agentHome: home}
	started := make(chan struct{})
	a.conn = acp.NewAgentSideConnection(a, agentOut, startedReader{agentIn, started})
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(started)
	go func() {
		select {
		case <-a.conn.Done():
		case <-home.dies:
		}
		_ = agentOut.Close()
	}()
	done := make(chan error, 1)
	go func() {
		done <- acpproxy.Run(t.Context(), acpproxy.Options{Node: node, Host: host, By: "dev", TakeOver: takeOver}, fromEditor, toEditor, fromAgent, toAgent)
		_ = toEditor.Close()
	}()
	stop = sync.OnceFunc(func() {
		_ = toProxy.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return fromProxy, toProxy, stop
}

// A startedReader blocks until the agent knows its connection.
type startedReader struct {
	io.Reader
	started chan struct{}
}

func (r startedReader) Read(p []byte) (int, error) {
	<-r.started
	return r.Reader.Read(p)
}

func connect(t *testing.T, node *client.Client, host string, home *agentHome, takeOver bool) *editor {
	t.Helper()
	in, out, stop := pipes(t, node, host, home, takeOver)
	e := &editor{t: t, stop: stop, sent: &lockedBuffer{}}
	e.conn = acp.NewConnection(e.handle, io.MultiWriter(out, e.sent), in)
	e.conn.SetLogger(slog.New(slog.DiscardHandler))
	var r acp.InitializeResponse
	e.call(acp.AgentMethodInitialize, acp.InitializeRequest{ProtocolVersion: 1}, &r)
	if !r.AgentCapabilities.LoadSession || r.AgentCapabilities.SessionCapabilities.List == nil || r.AgentCapabilities.SessionCapabilities.Resume == nil {
		t.Fatalf("the agent can %+v", r.AgentCapabilities)
	}
	return e
}

func (e *editor) handle(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	switch method {
	case acp.ClientMethodSessionUpdate:
		fits(e.t, method, params)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.updates = append(e.updates, bytes.Clone(params))
		return nil, nil
	case acp.ClientMethodSessionRequestPermission:
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected("yes")}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

// try sends a request and reads its answer as the schema has it.
func (e *editor) try(method string, params any, to interface{ Validate() error }) error {
	raw, err := acp.SendRequest[json.RawMessage](e.conn, e.t.Context(), method, params)
	if err != nil {
		return err
	}
	fits(e.t, method, raw)
	if err := json.Unmarshal(raw, to); err != nil {
		e.t.Errorf("%s answers %s: %v", method, raw, err)
	}
	if err := to.Validate(); err != nil {
		e.t.Errorf("%s answers %s: %v", method, raw, err)
	}
	return nil
}

func (e *editor) call(method string, params any, to interface{ Validate() error }) {
	e.t.Helper()
	if err := e.try(method, params, to); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

func (e *editor) begin() string {
	e.t.Helper()
	var r acp.NewSessionResponse
	e.call(acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: "/lab", McpServers: []acp.McpServer{}}, &r)
	if r.Modes == nil || r.Modes.CurrentModeId != "ask" {
		e.t.Errorf("the new session is %+v", r)
	}
	return string(r.SessionId)
}

func (e *editor) prompt(id, text string) error {
	return e.try(acp.AgentMethodSessionPrompt, acp.PromptRequest{SessionId: acp.SessionId(id), Prompt: []acp.ContentBlock{acp.TextBlock(text)}}, &acp.PromptResponse{})
}

func (e *editor) says(id, text string) {
	e.t.Helper()
	if err := e.prompt(id, text); err != nil {
		e.t.Fatalf("prompt %q: %v", text, err)
	}
}

// seen returns what the editor was shown of sessions since the last call, on one line
// per update.
func (e *editor) seen() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, u := range e.updates {
		lines = append(lines, string(u))
	}
	e.updates = nil
	return strings.Join(lines, "\n")
}

func (e *editor) load(id string) (shown string, err error) {
	e.seen()
	err = e.try(acp.AgentMethodSessionLoad, acp.LoadSessionRequest{SessionId: acp.SessionId(id), Cwd: "/lab", McpServers: []acp.McpServer{}}, &acp.LoadSessionResponse{})
	return e.seen(), err
}

// conversation leaves out the updates about the agent.
func conversation(shown string) string {
	var kept []string
	for line := range strings.SplitSeq(shown, "\n") {
		if !strings.Contains(line, "available_commands_update") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (h *agentHome) heard() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.prompts) == 0 {
		return ""
	}
	return h.prompts[len(h.prompts)-1]
}

func code(err error) int {
	e, _ := errors.AsType[*acp.RequestError](err)
	if e == nil {
		return 0
	}
	return e.Code
}

func TestSessionContinuesOnAnotherHost(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	homeA, homeB := &agentHome{loads: true}, &agentHome{}
	a := connect(t, node, "a", homeA, false)
	id := a.begin()
	a.says(id, "hello")
	live := conversation(a.seen())
	a.stop()

	b := connect(t, node, "b", homeB, false)
	var list acp.ListSessionsResponse
	b.call(acp.AgentMethodSessionList, acp.ListSessionsRequest{Cwd: acp.Ptr("/lab")}, &list)
	if len(list.Sessions) != 1 || string(list.Sessions[0].SessionId) != id || *list.Sessions[0].Title != "hello" || list.Sessions[0].UpdatedAt == nil {
		t.Fatalf("the list is %+v", list)
	}
	b.call(acp.AgentMethodSessionList, acp.ListSessionsRequest{Cwd: acp.Ptr("/elsewhere")}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("elsewhere are %+v", list)
	}
	shown, err := b.load(id)
	user := `{"sessionId":"` + id + `","update":{"sessionUpdate":"user_message_chunk","content":{"text":"hello","type":"text"}}}`
	if got := conversation(shown); err != nil || got != user+"\n"+live {
		t.Fatalf("load: %v\n%s\nwant\n%s\n%s", err, got, user, live)
	}
	b.says(id, "next")
	for _, part := range []string{"user: hello", "[call execute {\"command\":\"ls\"}]", "a.txt", "You said: hello", "|next"} {
		if !strings.Contains(homeB.heard(), part) {
			t.Errorf("the other agent heard %q, which lacks %q", homeB.heard(), part)
		}
	}
	b.says(id, "third")
	if homeB.heard() != "third" {
		t.Errorf("the agent heard %q again", homeB.heard())
	}
	b.stop()

	// The agent of the first host has a session that lacks what came after it.
	a = connect(t, node, "a", homeA, false)
	if shown, err = a.load(id); err != nil || !strings.Contains(shown, "third") {
		t.Fatalf("back again: %v, %s", err, shown)
	}
	a.says(id, "fourth")
	if heard := homeA.heard(); !strings.Contains(heard, "You said: third") {
		t.Errorf("back again, the agent heard %q", heard)
	}
}

func TestAgentContinuesItsOwnSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		home *agentHome
		want bool
	}{
		"it loads":         {&agentHome{loads: true}, true},
		"it cannot":        {&agentHome{}, false},
		"it makes another": {&agentHome{loads: true, forgets: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := nodetest.Start(t, nodetest.Config{}).Client
			home := c.home
			e := connect(t, node, "a", home, false)
			id := e.begin()
			e.says(id, "hello")
			e.stop()
			e = connect(t, node, "a", home, false)
			shown, err := e.load(id)
			if err != nil || strings.Count(shown, "user_message_chunk") != 1 || strings.Count(shown, `"You said"`) != 1 {
				t.Fatalf("load: %v, %s", err, shown)
			}
			if again, err := e.load(id); err != nil || conversation(again) != conversation(shown) {
				t.Errorf("a second load shows %s, %v", again, err)
			}
			e.says(id, "next")
			if got := home.heard() == "next"; got != c.want {
				t.Errorf("the agent heard %q", home.heard())
			}
		})
	}
}

func TestMessagesPassAsTheyAre(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	home := &agentHome{}
	e := connect(t, node, "a", home, false)
	id := e.begin()
	e.says(id, "ask")
	if !strings.Contains(e.seen(), "allowed yes") {
		t.Error("the agent got no permission")
	}
	e.call(acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: acp.SessionId(id), ModeId: "code"}, &acp.SetSessionModeResponse{})
	if err := e.prompt(id, "fail"); err == nil || !strings.Contains(err.Error(), "it failed") {
		t.Errorf("the agent's error is passed as %v", err)
	}
	_, err := acp.SendRequest[json.RawMessage](e.conn, t.Context(), "_example.com/own", map[string]string{"sessionId": id})
	if code(err) != -32601 {
		t.Errorf("the agent's answer to its own method is %v", err)
	}
	e.call(acp.AgentMethodSessionClose, acp.CloseSessionRequest{SessionId: acp.SessionId(id)}, &acp.CloseSessionResponse{})
	e.stop()
	var stored []string
	err = node.EachEntry(t.Context(), id, func(line []byte) error {
		stored = append(stored, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(stored, "\n")
	for sent := range strings.SplitSeq(e.sent.String(), "\n") {
		if strings.Contains(sent, `"session/prompt"`) && !strings.Contains(all, `{"type":"prompt","messages":[`+sent+`]`) {
			t.Errorf("the log lacks %s\n%s", sent, all)
		}
	}
	if n := strings.Count(all, `"type":"answer"`); n != 2 {
		t.Errorf("the log has the ends of %d turns, want 2:\n%s", n, all)
	}
	if n := strings.Count(all, `"agent_message_chunk"`); n != 3 || len(stored) > 10 {
		t.Errorf("%d chunks are on %d lines:\n%s", n, len(stored), all)
	}
}

func TestFencedEditorLearnsOfTheHolder(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	homeA, homeB := &agentHome{}, &agentHome{}
	a := connect(t, node, "host-a", homeA, false)
	id := a.begin()
	a.says(id, "hello")
	b := connect(t, node, "host-b", homeB, false)
	if _, err := b.load(id); code(err) != -32009 || !strings.Contains(err.Error(), "host-a") {
		t.Fatalf("another editor loads it: %v", err)
	}
	b.stop()
	waiting := make(chan error, 1)
	go func() { waiting <- a.prompt(id, "wait") }()
	for !strings.Contains(homeA.heard(), "wait") || !strings.Contains(a.seen(), "waiting") {
		if t.Context().Err() != nil {
			t.Fatal("the agent does not wait")
		}
	}
	b = connect(t, node, "host-b", homeB, true)
	if _, err := b.load(id); err != nil {
		t.Fatal(err)
	}
	b.says(id, "mine")
	if err := a.conn.SendNotification(t.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(id)}); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; code(err) != -32009 || !strings.Contains(err.Error(), "host-b") {
		t.Errorf("the turn ends with %v", err)
	}
	if err := a.prompt(id, "more"); err == nil || homeA.heard() != "wait" {
		t.Errorf("a fenced editor prompts: %v, %s", err, homeA.heard())
	}
	if _, err := a.load(id); code(err) != -32009 {
		t.Errorf("a fenced editor loads it again: %v", err)
	}
}

func TestDeletedSessionIsInTheTrash(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	e := connect(t, node, "a", &agentHome{}, false)
	id := e.begin()
	e.says(id, "hello")
	del := func(id string) error {
		raw, err := acp.SendRequest[json.RawMessage](e.conn, t.Context(), "session/delete", map[string]string{"sessionId": id})
		if err == nil && string(raw) != "{}" {
			t.Errorf("the answer is %s", raw)
		}
		return err
	}
	fresh := e.begin()
	for _, id := range []string{id, fresh} {
		if err := del(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.prompt(fresh, "more"); code(err) != -32002 {
		t.Errorf("a prompt after the deletion of a session without one: %v", err)
	}
	if err := e.prompt(id, "more"); code(err) != -32002 {
		t.Errorf("a prompt after the deletion: %v", err)
	}
	if _, err := e.load(id); code(err) != -32002 {
		t.Errorf("a load after the deletion: %v", err)
	}
	if info, err := node.Info(t.Context(), id); err != nil || info.Log.Deleted == nil {
		t.Errorf("the log has %+v, %v", info.Log, err)
	}
}

func TestPromptWithoutANodeIsRefused(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{})
	home := &agentHome{}
	e := connect(t, node.Client, "a", home, false)
	id := e.begin()
	e.says(id, "hello")
	node.Stop()
	if err := e.prompt(id, "more"); err == nil {
		t.Error("the prompt is answered")
	}
	if home.heard() != "hello" {
		t.Errorf("the agent heard %q", home.heard())
	}
}

// The editor stops a turn while no node accepts what was said in it.
func TestCancelDoesNotWaitForANode(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{})
	to, err := url.Parse(node.Base)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(to)
	stuck, release := make(chan struct{}, 100), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"waiting"`)) {
			stuck <- struct{}{}
			<-release
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(slow.Close)
	home := &agentHome{stops: make(chan struct{}, 1)}
	e := connect(t, &client.Client{Base: slow.URL}, "a", home, false)
	id := e.begin()
	ended := make(chan error, 1)
	go func() { ended <- e.prompt(id, "wait") }()
	<-stuck
	if err := e.conn.SendNotification(t.Context(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(id)}); err != nil {
		t.Fatal(err)
	}
	<-home.stops
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("the turn ends with %v", err)
	}
}

func TestLoadEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	e := connect(t, node, "a", &agentHome{}, false)
	id := e.begin()
	e.says(id, "hello")
	e.stop()
	e = connect(t, node, "a", &agentHome{dies: make(chan struct{})}, false)
	if _, err := e.load(id); err == nil {
		t.Error("the session is loaded without an agent")
	}
	e.stop()
	if heads, err := node.Heads(t.Context(), id); err != nil || heads.Heads[0].Claim != nil {
		t.Errorf("the session is still claimed: %+v, %v", heads, err)
	}
}
