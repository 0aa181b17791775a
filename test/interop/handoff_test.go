//go:build unix

package interop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// handedOver is what the first request of the next agent must have.
var handedOver = []string{"What is in the picture?", "A point.", "Use a tool.", "echo forty-two", "It printed a number.", "Anything else?"}

// unescaped returns a request as text, without what JSON escapes.
func unescaped(t *testing.T, request []map[string]any) string {
	t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(`\"`, `"`, `\u003c`, "<", `\u003e`, ">").Replace(string(b))
}

func holdsAll(t *testing.T, r harness.Result, last func(*testing.T) []map[string]any, results string) {
	t.Helper()
	if r.Code != 0 || !strings.Contains(r.Err, "is in the log, head main") {
		t.Fatalf("sessctl resume --as: %s", r)
	}
	request, at := unescaped(t, last(t)), 0
	for _, text := range handedOver {
		i := strings.Index(request[at:], text)
		if i < 0 {
			t.Fatalf("the request does not have %q in its place: %s", text, request)
		}
		at += i
	}
	for _, text := range []string{picture, results} {
		if !strings.Contains(request, text) {
			t.Errorf("the request does not have %.60q: %s", text, request)
		}
	}
}

// Codex continues what Claude Code began: it is sent what was said, the picture, the
// call and its result.
func TestCodexContinuesSessionOfClaude(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program, next := claudeCode(t), codexCLI(t)
	node := harness.StartNode(t)
	m := newMessagesModel(t,
		messagesAnswer{blocks: []map[string]any{block("thinking", map[string]any{"thinking": "Hm.", "signature": "c2ln"}), textBlock("A point.")}},
		messagesAnswer{blocks: []map[string]any{bash("toolu_1", "echo forty-two")}},
		messagesAnswer{blocks: []map[string]any{textBlock("It printed a number.")}},
	)
	a := newClaudeHost(t, node, program, "project", m)
	id := a.works(t, m, claudeCase{prompts: []string{"What is in the picture?"}, picture: true})
	a.runs(t, []string{"run"}, "Use a tool.", "--resume", id)
	to := newResponsesModel(t)
	b := newCodexHost(t, node, next, "other", to, "")
	r := b.next(t, "Anything else?", id, "--as", "codex", "--take-over")
	holdsAll(t, r, to.last, `"call_id":"toolu_1"`)
	if !strings.Contains(r.Err, "lost in the format of codex: ") {
		t.Errorf("what is lost is not named: %s", r)
	}
}

// Claude Code continues what Codex began.
func TestClaudeContinuesSessionOfCodex(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program, next := codexCLI(t), claudeCode(t)
	node := harness.StartNode(t)
	m := newResponsesModel(t,
		responsesAnswer{items: []map[string]any{codexThinks("Hm."), codexSays("A point.")}},
		responsesAnswer{items: []map[string]any{codexRuns("call_1", "echo forty-two")}},
		responsesAnswer{items: []map[string]any{codexSays("It printed a number.")}},
	)
	a := newCodexHost(t, node, program, "project", m, "")
	id := a.works(t, codexCase{prompts: []string{"What is in the picture?", "Use a tool."}, flags: []string{"--image", pictureFile}})
	to := newMessagesModel(t)
	b := newClaudeHost(t, node, next, "other", to)
	r := b.runs(t, []string{"resume", id, "--as", "claude", "--take-over", "--cwd", b.project}, "Anything else?")
	holdsAll(t, r, to.last, `"tool_use_id":"call_1"`)
}

// opencode continues what Claude Code began.
func TestOpencodeContinuesSessionOfClaude(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program, next := claudeCode(t), opencodeCLI(t)
	node := harness.StartNode(t)
	m := newMessagesModel(t,
		messagesAnswer{blocks: []map[string]any{block("thinking", map[string]any{"thinking": "Hm.", "signature": "c2ln"}), textBlock("A point.")}},
		messagesAnswer{blocks: []map[string]any{bash("toolu_1", "echo forty-two")}},
		messagesAnswer{blocks: []map[string]any{textBlock("It printed a number.")}},
	)
	a := newClaudeHost(t, node, program, "project", m)
	id := a.works(t, m, claudeCase{prompts: []string{"What is in the picture?"}, picture: true})
	a.runs(t, []string{"run"}, "Use a tool.", "--resume", id)
	to := newChatModel(t)
	b := newOpencodeHost(t, node, next, "other", to)
	r := b.next(t, "Anything else?", id, "--as", "opencode", "--take-over")
	holdsAll(t, r, to.last, `"tool_call_id":"toolu_1"`)
	if !strings.Contains(r.Err, "lost in the format of opencode: ") {
		t.Errorf("what is lost is not named: %s", r)
	}
}

// Codex continues what opencode began.
func TestCodexContinuesSessionOfOpencode(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program, next := opencodeCLI(t), codexCLI(t)
	node := harness.StartNode(t)
	m := newChatModel(t,
		chatAnswer{thinks: "Hm.", says: "A point."},
		chatAnswer{calls: []chatCall{runsShell("echo forty-two")}},
		chatAnswer{says: "It printed a number."},
	)
	a := newOpencodeHost(t, node, program, "project", m)
	id := a.works(t, m, opencodeCase{prompts: []string{"What is in the picture?", "Use a tool."}, image: true})
	to := newResponsesModel(t)
	b := newCodexHost(t, node, next, "other", to, "")
	r := b.next(t, "Anything else?", id, "--as", "codex", "--take-over")
	holdsAll(t, r, to.last, `"call_id":"call_2_0"`)
	if !strings.Contains(r.Err, "lost in the format of codex: ") {
		t.Errorf("what is lost is not named: %s", r)
	}
}
