package bundle

import (
	"strings"
	"testing"
)

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"a", "a/b.jsonl", "projects/-tmp-x/é😀.txt", ".claude/x"} {
		if err := CheckPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
	}
	for _, p := range []string{
		"", ".", "..", "/a", "a/", "a//b", "a/../b", "../a", `a\b`, "c:x", "a\x00", "a\n", "\xff",
		strings.Repeat("a", 256), strings.Repeat("a/", 40) + "b",
	} {
		if CheckPath(p) == nil {
			t.Errorf("%q is accepted", p)
		}
	}
}
