//go:build unix

package interop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

const rescuedID = "5e550000-2222-4333-8444-555555555555"

// claudeLines makes n turns of four lines, from the turn first on: a prompt, a call, its
// result, and an answer. The first line has the parent up.
func claudeLines(first, n int, up string) string {
	var b strings.Builder
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	line := func(turn, i int, kind, message string) {
		id := fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", turn, i)
		parent := "null"
		if up != "" {
			parent = `"` + up + `"`
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":%s,"uuid":%q,"timestamp":%q,"userType":"external","cwd":"/lab","sessionId":%q,"version":"2.1.197"}`+"\n",
			parent, kind, message, id, begin.Add(time.Duration(turn)*time.Minute+time.Duration(i)*time.Second).Format("2006-01-02T15:04:05.000Z"), rescuedID)
		up = id
	}
	for turn := first; turn < first+n; turn++ {
		answer := func(i int, content string) string {
			return fmt.Sprintf(`{"id":"msg_%d_%d","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":9}}`, turn, i, claudeModel, content)
		}
		line(turn, 0, "user", fmt.Sprintf(`{"role":"user","content":"Question %d."}`, turn))
		line(turn, 1, "assistant", answer(1, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"echo %d"}}`, turn, turn)))
		line(turn, 2, "user", fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%d"}]}`, turn, turn))
		line(turn, 3, "assistant", answer(3, fmt.Sprintf(`{"type":"text","text":"Answer %d."}`, turn)))
	}
	return b.String()
}

func lineID(turn, i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%06d%06d", turn, i) }

// stores puts a session where the agent looks for it, as of a minute ago.
func (h *claudeHost) stores(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(h.Path("config"), "projects", folderOf(h.project), rescuedID+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// Claude Code judges sessctl rescue: what it said would not be sent is not sent, and
// after the repair the agent sends all.
func TestClaudeSendsWhatWasRescued(t *testing.T) {
	t.Parallel()
	program := claudeCode(t)
	for name, c := range map[string]struct {
		text, lost string
		flags      []string
	}{
		"missing parent": {text: claudeLines(1, 2, "") + claudeLines(5, 2, lineID(4, 3)), lost: "Answer 2."},
		"stale leaf": {
			text: claudeLines(1, 1, "") + claudeLines(2, 1, lineID(1, 3)) + claudeLines(4, 2, lineID(1, 3)) +
				`{"type":"last-prompt","leafUuid":"` + lineID(2, 3) + `","sessionId":"` + rescuedID + `"}` + "\n",
			lost: "Answer 5.",
		},
		"glued lines": {
			text: claudeLines(1, 2, "") + strings.Replace(claudeLines(3, 1, lineID(2, 3)), "}\n{", "}{", 3) + claudeLines(4, 1, lineID(3, 3)), lost: "Answer 3.",
		},
		"branch": {text: claudeLines(1, 2, "") + claudeLines(3, 4, lineID(2, 3)) + claudeLines(20, 1, lineID(2, 3)), lost: "Answer 6.", flags: []string{"--join"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !*long && name != "missing parent" {
				t.Skip("-long is not set")
			}
			m := newMessagesModel(t)
			h := newClaudeHost(t, &harness.Node{}, program, "project", m)
			h.stores(t, c.text)
			h.clone(t).resumes(t, rescuedID)
			if text := sameOnHosts(m.last(t), h); strings.Contains(text, c.lost) {
				t.Errorf("the agent has lost nothing: %s", text)
			}
			if r := h.Sessctl(t, append([]string{"rescue", "--repair"}, c.flags...)...); r.Code != 0 || !strings.Contains(r.Out, "repaired: ") {
				t.Fatalf("sessctl rescue: %s", r)
			}
			h.resumes(t, rescuedID)
			if text := sameOnHosts(m.last(t), h); !strings.Contains(text, c.lost) || !strings.Contains(text, "Answer 1.") || strings.Contains(text, "Repaired") {
				t.Errorf("after the repair the request is %s", text)
			}
		})
	}
}

// openedLines is how many lines the session of TestOpensFasterThanClaude has.
const openedLines = 50_000

// TestOpensFasterThanClaude prints how long Claude Code takes from its start to its
// first request of a session, and how long sessctl takes from its start to the same
// messages. Each is the shortest of three; the file is in the cache of the file system.
func TestOpensFasterThanClaude(t *testing.T) {
	if !*long {
		t.Skip("-long is not set")
	}
	program := claudeCode(t)
	m := newMessagesModel(t)
	h := newClaudeHost(t, &harness.Node{}, program, "project", m)
	h.stores(t, claudeLines(1, openedLines/4, ""))
	file := filepath.Join(h.Path("config"), "projects", folderOf(h.project), rescuedID+".jsonl")
	own, theirs := time.Hour, time.Hour
	for range 3 {
		begin := time.Now()
		r := h.Sessctl(t, "model-input", "-o", "json", file)
		own = min(own, time.Since(begin))
		if r.Code != 0 || !strings.Contains(r.Out, fmt.Sprintf("Answer %d.", openedLines/4)) {
			t.Fatalf("sessctl model-input: %.2000s", r)
		}
		m.forget()
		c := h.clone(t)
		begin = time.Now()
		c.resumes(t, rescuedID)
		theirs = min(theirs, m.firstAt(t).Sub(begin))
	}
	t.Logf("Claude Code takes %v to its first request of a session of %d lines, sessctl model-input %v: a ratio of %.1f",
		theirs.Round(time.Millisecond), openedLines, own.Round(time.Millisecond), float64(theirs)/float64(own))
}
