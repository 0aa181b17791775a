package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/mcpserver"
	"github.com/sesslog/sesslog/internal/nodetest"
)

const talk = `{"type":"session","version":3,"id":"%s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/ann/site"}
{"type":"message","id":"aaaaaaaa","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"Which port?"}}
{"type":"message","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"2026-01-05T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ss -l"}}]}}
{"type":"message","id":"cccccccc","parentId":"bbbbbbbb","timestamp":"2026-01-05T09:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":true}}
`

// connect returns a node with sessions port-one and port-two, and a client of its server
// that sends the URI of each update to updates.
func connect(t *testing.T) (node *nodetest.Node, session *mcp.ClientSession, updates chan string) {
	t.Helper()
	node = nodetest.Start(t, nodetest.Config{})
	for _, id := range []string{"port-one", "port-two"} {
		text := fmt.Sprintf(talk, id, strings.Repeat("\u00e9", 5000))
		if _, err := node.Import(t.Context(), strings.NewReader(text), int64(len(text)), client.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	near, far := mcp.NewInMemoryTransports()
	if _, err := mcpserver.New(ctx, node.Client, "v1").Connect(ctx, near, nil); err != nil {
		t.Fatal(err)
	}
	updates = make(chan string, 16)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
	})
	session, err := c.Connect(ctx, far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return node, session, updates
}

func TestToolsReadSessionsWithinTheirLimits(t *testing.T) {
	t.Parallel()
	_, session, _ := connect(t)
	for _, c := range []struct {
		name, tool string
		args       map[string]any
		has, lacks string
	}{
		{"all sessions", "list_sessions", nil, `"id":"port-one"`, "next"},
		{"a page", "list_sessions", map[string]any{"limit": 1}, `"next":`, ""},
		{"of another agent", "list_sessions", map[string]any{"agent": "claude"}, `"sessions":[]`, "port"},
		{"of a directory", "list_sessions", map[string]any{"directory": "/home/ann"}, "port-two", ""},
		{"of the future", "list_sessions", map[string]any{"since": "2999-01-01T00:00:00Z"}, `"sessions":[]`, ""},
		{"not a time", "list_sessions", map[string]any{"since": "soon"}, "is not a time", ""},
		{"hits", "search_sessions", map[string]any{"query": "which port"}, `"entry":"aaaaaaaa"`, ""},
		{"hits of a session", "search_sessions", map[string]any{"query": "port", "session": "port-two"}, "port-two", "port-one"},
		{"the last entries", "read_session", map[string]any{"session": "port-one", "limit": 2}, `[call bash {\"command\":\"ss -l\"}]`, "Which port?"},
		{"the first entry", "read_session", map[string]any{"session": "port-one", "from": 0, "limit": 1}, "user: Which port?", "bash"},
		{"a long result", "read_session", map[string]any{"session": "port-one"}, "more bytes)", ""},
		{"a failed call", "read_session", map[string]any{"session": "port-one"}, "[failed bash]", ""},
		{"an unclear id", "read_session", map[string]any{"session": "port"}, "several sessions", ""},
		{"an unknown id", "read_session", map[string]any{"session": "nothing"}, "no session", ""},
		{"a context", "session_context", map[string]any{"session": "port-one"}, "Which port?", ""},
		{"a large context", "session_context", map[string]any{"session": "port-one", "maxBytes": 100}, "raise maxBytes", "Which"},
		{"a context without a limit", "session_context", map[string]any{"session": "port-one", "maxBytes": -1}, "Which port?", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
			if err != nil {
				t.Fatal(err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if !strings.Contains(text, c.has) || c.lacks != "" && strings.Contains(text, c.lacks) {
				t.Errorf("got %.2000s", text)
			}
		})
	}
}

func TestSubscribersLearnOfNewEntries(t *testing.T) {
	t.Parallel()
	node, session, updates := connect(t)
	const uri = "session://port-one"
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"type":"message","message":{"role":"user","content":"And now?"}}` + "\n")
	for told := false; !told; { // a record before the server follows is not news
		if _, err := node.Append(t.Context(), "port-one", line, client.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-updates:
			if told = true; got != uri {
				t.Errorf("an update of %s", got)
			}
		case <-t.Context().Done():
			t.Fatal("no update")
		default:
		}
	}
	r, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(r.Contents[0].Text), "\n")
	if len(lines) < 4 || !strings.Contains(lines[len(lines)-1], "And now?") {
		t.Errorf("the resource has %d lines", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %.200s", line)
		}
	}
}

func TestOtherResourcesAreNotFound(t *testing.T) {
	t.Parallel()
	_, session, _ := connect(t)
	for _, uri := range []string{"session://", "session://nothing", "session://..%2f..%2fblobs", "file:///etc/passwd"} {
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}
