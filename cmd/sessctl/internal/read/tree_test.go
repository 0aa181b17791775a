package read

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core/display"
)

func TestBranchLines(t *testing.T) {
	t.Parallel()
	depths := []int{0, 1, 2, 3, 3, 4, 2, 3, 0, 9}
	want := []string{"", "", "├─ ", "│  ├─ ", "│  └─ ", "│     ", "└─ ", "   ", "", ""}
	nodes := make([]display.TreeNode, len(depths))
	for i, d := range depths {
		nodes[i].Depth = d
	}
	got := shapeOf(nodes).before
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("node %d: %q, want %q", i, got[i], want[i])
		}
	}
}

// A session that branches at every step stays on the screen.
func TestBranchLinesAreBounded(t *testing.T) {
	t.Parallel()
	var nodes []display.TreeNode
	for d := range 2000 {
		nodes = append(nodes, display.TreeNode{Depth: d})
	}
	for d := 1999; d > 0; d-- {
		nodes = append(nodes, display.TreeNode{Depth: d})
	}
	for i, line := range shapeOf(nodes).before {
		if len([]rune(line)) > 3*maxBranches+len("2000: ") {
			t.Fatalf("node %d is moved by %d columns", i, len([]rune(line)))
		}
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"type":"message","message":{"role":"user","content":"hi"}}`:                                                                  "user: hi",
		`{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}}`: "assistant: a",
		`{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}}`:                            "assistant: (hm)",
		`{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","name":"ls","arguments":{"a":1}}]}}`:            `assistant: [ls {"a":1}]`,
		`{"type":"message","message":{"role":"toolResult","toolName":"ls","content":[{"type":"image","data":"AAAA"}]}}`:                "toolResult ls: [(image)]",
		`{"type":"message","message":{"role":"assistant","model":"m","provider":"p"}}`:                                                 "assistant",
		`{"type":"message","message":5}`:                                "",
		`{"type":"model_change","provider":"p","modelId":"m"}`:          "p/m",
		`{"type":"thinking_level_change","thinkingLevel":"high"}`:       "high",
		`{"type":"compaction","summary":"short"}`:                       "short",
		`{"type":"label","targetId":"e","label":"x"}`:                   `"x" on e`,
		`{"type":"label","targetId":"e"}`:                               "no label on e",
		`{"type":"custom","customType":"ext","data":{}}`:                "ext",
		`{"type":"custom_message","customType":"ext","content":"said"}`: "ext: said",
		`not JSON`:                       "",
		`{"name":5,"summary":"is fine"}`: "is fine",
	} {
		if got := preview([]byte(line)); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	long := preview([]byte(`{"message":{"role":"user","content":"` + strings.Repeat("é", 10_000) + `"}}`))
	if len(long) > previewLength+20 {
		t.Errorf("%d bytes are more than a few words", len(long))
	}
}
