//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// An acpEditor runs opencode through sessctl acp. It reads messages as the SDK has them.
type acpEditor struct {
	conn *acp.Connection
	end  func()

	mu      sync.Mutex
	updates []acp.SessionUpdate
}

func (h *opencodeHost) opensEditor(t *testing.T) *acpEditor {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.project, "opencode.json"), []byte(`{"model":"fake/f1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // for all turns of an editor, on a busy machine
	t.Cleanup(cancel)
	cmd := h.Command(ctx, t, "acp", "--", h.program, "acp")
	cmd.Dir = h.project
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &acpEditor{}
	e.end = sync.OnceFunc(func() {
		_ = in.Close()
		<-e.conn.Done() // all of the output is read
		if err := cmd.Wait(); err != nil {
			t.Logf("sessctl acp: %v\n%s", err, errs.String())
		}
	})
	e.conn = acp.NewConnection(func(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
		if method != acp.ClientMethodSessionUpdate {
			return nil, acp.NewMethodNotFound(method)
		}
		var n acp.SessionNotification
		if err := errors.Join(json.Unmarshal(params, &n), n.Validate()); err != nil {
			t.Errorf("%s: %v", params, err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.updates = append(e.updates, n.Update)
		return nil, nil
	}, in, out)
	e.conn.SetLogger(slog.New(slog.DiscardHandler))
	t.Cleanup(e.end)
	asks[acp.InitializeResponse](t, e, acp.AgentMethodInitialize, acp.InitializeRequest{ProtocolVersion: 1})
	return e
}

func asks[T any](t *testing.T, e *acpEditor, method string, params any) T {
	t.Helper()
	answer, err := acp.SendRequest[T](e.conn, t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return answer
}

func (e *acpEditor) says(t *testing.T, id acp.SessionId, text string) {
	t.Helper()
	asks[acp.PromptResponse](t, e, acp.AgentMethodSessionPrompt, acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
}

// shown returns what the editor was shown since the last call: texts of the user and the
// agent, and the titles of tools.
func (e *acpEditor) shown() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all strings.Builder
	for _, u := range e.updates {
		switch {
		case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
			all.WriteString("\nuser: " + u.UserMessageChunk.Content.Text.Text)
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			all.WriteString("\nagent: " + u.AgentMessageChunk.Content.Text.Text)
		case u.ToolCall != nil:
			all.WriteString("\ntool: " + string(u.ToolCall.ToolCallId))
		}
	}
	e.updates = nil
	return all.String()
}

// A session that an editor had with opencode on one host continues in another editor,
// with opencode on another host, and then on the first one again.
func TestEditorsShareSessionsOfOpencode(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("opencode needs seconds of processor time for each start: -long is not set")
	}
	program := opencodeCLI(t)
	node := harness.StartNode(t)
	m := newChatModel(t, chatAnswer{says: "I look.", calls: []chatCall{runsShell("echo forty-two")}}, chatAnswer{says: "It is forty-two."})
	a := newOpencodeHost(t, node, program, "project", m)
	e := a.opensEditor(t)
	id := asks[acp.NewSessionResponse](t, e, acp.AgentMethodSessionNew, acp.NewSessionRequest{Cwd: a.project, McpServers: []acp.McpServer{}}).SessionId
	e.says(t, id, "use a tool")
	live := e.shown()
	if !strings.Contains(live, "It is forty-two.") || !strings.Contains(live, "tool: ") {
		t.Fatalf("the editor was shown %s", live)
	}
	e.end()

	b := newOpencodeHost(t, node, program, "elsewhere", m)
	e = b.opensEditor(t)
	list := asks[acp.ListSessionsResponse](t, e, acp.AgentMethodSessionList, acp.ListSessionsRequest{})
	if len(list.Sessions) != 1 || list.Sessions[0].SessionId != id {
		t.Fatalf("the list is %+v", list)
	}
	load := func() string {
		asks[acp.LoadSessionResponse](t, e, acp.AgentMethodSessionLoad, acp.LoadSessionRequest{SessionId: id, Cwd: b.project, McpServers: []acp.McpServer{}})
		return e.shown()
	}
	if got := load(); got != "\nuser: use a tool"+live {
		t.Errorf("the other editor is shown %s\nwant %s", got, live)
	}
	e.says(t, id, "next")
	if got := chatOf(m.last(t)); !strings.Contains(got, "It is forty-two.") || !strings.Contains(got, "echo forty-two") || !strings.Contains(got, "next") {
		t.Errorf("the other agent asks the model %s", got)
	}
	e.end()

	e = b.opensEditor(t)
	if got := load(); !strings.Contains(got, "user: next") {
		t.Errorf("again, it is shown %s", got)
	}
	e.says(t, id, "last")
	// The agent knows its own session: it was not told again.
	if got := chatOf(m.last(t)); strings.Count(got, "What was said so far:") != 1 || !strings.Contains(got, "last") {
		t.Errorf("the agent with its own session asks %s", got)
	}
	e.end()
	t.Logf("opencode 1.18.33 by ACP: one session on two hosts")
}
