package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestDiffShowsBothSides(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("ours-000001", "common text", "left text")
	_, err := n.Append(t.Context(), "ours-000001", []byte(strings.Replace(message(7, "right text"), `"e6"`, `"e0"`, 1)+"\n"), client.AppendOptions{Head: "other"})
	testkit.Must(t, err)
	made, err := n.Fork(t.Context(), "ours-000001", api.ForkRequest{At: "e0", ID: "fork-000001"})
	testkit.Must(t, err)
	_, err = n.Append(t.Context(), string(made.ID), []byte(strings.Replace(message(8, "forked text"), `"e7"`, `"e0"`, 1)+"\n"), client.AppendOptions{})
	testkit.Must(t, err)
	for path, want := range map[string]string{
		"?withHead=other":                           "right text",
		"?with=fork-000001":                         "forked text",
		"?with=fork-000001&withHead=main&head=main": "forked text",
	} {
		_, body := n.get("/sessions/ours-000001/diff"+path, rootToken)
		checkHTML(t, path, body)
		if !strings.Contains(body, "1 entries in common") || !strings.Contains(body, "left text") || !strings.Contains(body, want) || strings.Contains(body, "<p>common text") {
			t.Errorf("%s: %s", path, body)
		}
	}
	if _, body := n.get("/sessions/ours-000001/diff", rootToken); !strings.Contains(body, "Compare") || strings.Contains(body, "in common") {
		t.Errorf("without a second path: %s", body)
	}
}

// editing returns entry i of a session, a call of a tool.
func editing(i int, name, args string) string {
	return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%d","name":%q,"arguments":%s}],"timestamp":1}}`, i, i-1, i, name, args)
}

// A long edit is cut, on the transcript and among the changes. Both say so, and the
// numbers of lines are those of the whole edit. So it is with many blocks of a result.
func TestLongEditsAndResultsSayWhatIsCut(t *testing.T) {
	t.Parallel()
	n := start(t)
	n.make("long-000001", "edit")
	const lines, blocks = 30_000, 600
	result := `{"type":"message","id":"e2","parentId":"e1","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"write","content":[` +
		strings.Repeat(`{"type":"text","text":"x"},`, blocks-1) + `{"type":"text","text":"the end"}],"isError":false,"timestamp":1}}`
	for _, line := range []string{editing(1, "write", `{"path":"b.go","content":"`+strings.Repeat(`line\n`, lines)+`"}`), result} {
		_, err := n.Append(t.Context(), "long-000001", []byte(line+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	_, body := n.get("/sessions/long-000001/edits", rootToken)
	if !strings.Contains(body, fmt.Sprintf("+%d", lines)) || !strings.Contains(body, "are not shown") || strings.Count(body, "<ins>") > lines/2 {
		t.Errorf("a file of %d lines is shown as %.3000s", lines, body)
	}
	_, body = n.get("/sessions/long-000001", rootToken)
	if !strings.Contains(body, "are not shown") || strings.Count(body, "<ins>") > lines/2 || !strings.Contains(body, "<b>and more blocks</b> 100") {
		t.Errorf("the call is shown as %.3000s", body)
	}
}

func TestChangesAreShownByFile(t *testing.T) {
	t.Parallel()
	n := start(t)
	result := func(i, of int, failed bool) string {
		return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"toolResult","toolCallId":"c%d","toolName":"x","content":[],"isError":%v,"timestamp":1}}`, i, i-1, of, failed)
	}
	n.make("ours-000001", "edit")
	for _, line := range []string{
		editing(1, "edit", `{"path":"<b>a.go","oldText":"one\ntwo\nthree","newText":"one\n2\n2b\nthree"}`), result(2, 1, false),
		editing(3, "edit", `{"path":"<b>a.go","oldText":"x","newText":"never"}`), result(4, 3, true),
		editing(5, "write", `{"path":"b.go","content":"all\nof it\n"}`), result(6, 5, false),
		editing(7, "bash", `{"command":"rm c.go"}`), editing(8, "edit", `{"path":"d.go","oldText":"p","newText":"q"}`),
	} {
		_, err := n.Append(t.Context(), "ours-000001", []byte(line+"\n"), client.AppendOptions{})
		testkit.Must(t, err)
	}
	_, body := n.get("/sessions/ours-000001/edits", rootToken)
	checkHTML(t, "edits", body)
	for _, want := range []string{
		`<b>&lt;b&gt;a.go</b> <span class="good">+2</span> <span class="bad">-1</span>`, `<del>- two`, `<ins>+ 2b`, "failed", "never",
		`<b>b.go</b> <span class="good">+2</span> <span class="bad">-0</span>`, "whole file", `<b>d.go</b> <span class="good">+0</span>`, "no result",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
	if strings.Contains(body, "c.go") {
		t.Error("a command of a shell is shown as a change")
	}
}
