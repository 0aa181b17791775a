//go:build unix

package interop_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A conversion into opencode, and a fork of a session of opencode, are resumed twice on
// one host: the second time opencode already has them, with the turn that followed.
func TestOpencodeResumesTwice(t *testing.T) {
	t.Parallel()
	if !*long {
		t.Skip("-long is not set")
	}
	program := opencodeCLI(t)
	node := harness.StartNode(t)
	m := newChatModel(t)
	h := newOpencodeHost(t, node, program, "project", m)
	talk := h.Path("talk.jsonl")
	testkit.Must(t, os.WriteFile(talk, []byte(`{"type":"session","version":3,"id":"7a1c0000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05.000Z","cwd":"`+h.project+`"}
{"type":"message","id":"aaaaaaa1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"The number is forty-two.","timestamp":1767323046000}}
{"type":"message","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I remember."}],"provider":"p","model":"m","timestamp":1767323047000}}
`), 0o600))
	if r := h.Sessctl(t, "import", talk); r.Code != 0 {
		t.Fatalf("import: %s", r)
	}
	asked := func(what string, r harness.Result, holds ...string) {
		t.Helper()
		if r.Code != 0 {
			t.Errorf("%s: %s", what, r)
			return
		}
		request := chatOf(m.last(t), h)
		for _, text := range holds {
			if strings.Count(request, text) != 1 {
				t.Errorf("%s: %q is not once in the request %s", what, text, request)
			}
		}
	}
	const of = "7a1c0000-0000-4000-8000-000000000001"
	r := h.next(t, "first question", of, "--as", "opencode")
	asked("the conversion", r, "forty-two", "first question")
	made := loggedBy(t, r)
	asked("the conversion, resumed again", h.next(t, "second question", made), "forty-two", "first question", "second question")
	asked("the conversion, made again", h.next(t, "third question", of, "--as", "opencode"), "forty-two", "third question")

	// The session that was converted and its conversion continue apart from each other.
	if _, err := node.Client().Append(harness.Timeout(t), of, []byte(`{"type":"message","message":{"role":"user","content":"It is odd.","timestamp":1767323048000}}`), client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	asked("the conversion of what was added", h.next(t, "sixth question", of, "--as", "opencode"), "forty-two", "It is odd.", "sixth question")

	f := h.Sessctl(t, "fork", made)
	if f.Code != 0 {
		t.Fatalf("fork: %s", f)
	}
	fork := strings.Fields(f.Out)[0]
	r = h.next(t, "fourth question", fork)
	asked("the fork", r, "forty-two", "second question", "fourth question")
	asked("the fork, resumed again", h.next(t, "fifth question", fork), "forty-two", "fourth question", "fifth question")
	dir := t.TempDir()
	if r := h.Sessctl(t, "export", fork, "--home", dir); r.Code != 0 {
		t.Errorf("export of the fork: %s", r)
	}
}
