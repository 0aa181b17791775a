package acpproxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/nodetest"
	"github.com/sesslog/sesslog/session/catalog"
)

func TestBadInputGetsErrorsOfTheProtocol(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, nodetest.Config{}).Client
	pi := `{"type":"session","version":3,"id":"pi-session","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/lab"}` + "\n"
	if _, err := node.Import(t.Context(), strings.NewReader(pi), int64(len(pi)), client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	home := &agentHome{}
	in, out, stop := pipes(t, node, "a", home, false)
	lines := bufio.NewReader(in)
	ask := func(line string) (id string, code int, said string) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			t.Fatal(err)
		}
		answer, err := lines.ReadBytes('\n')
		var m struct {
			ID    json.RawMessage
			Error struct {
				Code    int
				Message string
			}
		}
		if err != nil || json.Unmarshal(answer, &m) != nil || m.Error.Code != 0 && m.Error.Message == "" {
			t.Fatalf("%s: %s, %v", line, answer, err)
		}
		return string(m.ID), m.Error.Code, m.Error.Message
	}
	if _, code, _ := ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":9}}`); code != 0 {
		t.Fatal(code)
	}
	for _, c := range []struct {
		line, id string
		code     int
	}{
		{`hello`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1`, "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"session/list\"}", "null", -32700},
		{`[{"jsonrpc":"2.0","id":1,"method":"initialize"}]`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{}}`, "2", -32602},
		{`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}`, "3", -32602},
		{`{"jsonrpc":"2.0","id":"é","method":"session/load","params":{"sessionId":"pi-session","cwd":"/lab","mcpServers":[]}}`, `"é"`, -32002},
		{`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"none-such","cwd":"/lab","mcpServers":[]}}`, "4", -32002},
		{`{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"../x","cwd":"/lab","mcpServers":[]}}`, "4", -32602},
		{`{"jsonrpc":"2.0","id":4,"method":"session/resume","params":{"sessionId":"none-such"}}`, "4", -32602},
		{`{"jsonrpc":"2.0","id":5,"method":"session/delete","params":{"sessionId":"pi-session"}}`, "5", -32002},
		{`{"jsonrpc":"2.0","id":5,"method":"session/delete"}`, "5", -32602},
		{`{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"cursor":7}}`, "6", -32602},
		{`{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"cursor":"not one"}}`, "6", -32602},
		{`{"jsonrpc":"2.0","id":7,"method":"session/fork","params":{"sessionId":"x","cwd":"/lab"}}`, "7", -32601},
		{`{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}`, "8", -32002},
		{`{"jsonrpc":"2.0","id":8,"method":"session/prompt","params":{"sessionId":7,"prompt":[]}}`, "8", -32002},
		{`{"jsonrpc":"2.0","id":9,"method":"unknown/method","params":{}}`, "9", -32601},
	} {
		if id, code, said := ask(c.line); id != c.id || code != c.code {
			t.Errorf("%s: id %s, error %d; want %s, %d (%s)", c.line, id, code, c.id, c.code, said)
		}
	}
	stop()
	e := connect(t, node, "a", home, false)
	id := e.begin()
	for _, prompt := range []any{7, []any{7}, []any{map[string]any{"type": "hologram"}}, nil} {
		err := e.try("session/prompt", map[string]any{"sessionId": id, "prompt": prompt}, &acp.PromptResponse{})
		if code(err) != -32602 {
			t.Errorf("prompt %v: %v", prompt, err)
		}
	}
	e.stop()
	list, err := node.List(t.Context(), catalog.Filter{Dialect: "acp"})
	if err != nil || len(list.Sessions) > 0 || home.heard() != "" {
		t.Errorf("bad input is stored: %+v, %v; the agent heard %q", list.Sessions, err, home.heard())
	}
}
