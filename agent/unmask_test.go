package agent

import (
	"os"
	"testing"
)

// The log has masks for secrets that the file on this host has. The file keeps them.
func TestResumeKeepsLocalSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	masked := resumeHead + message("a", "null", "one [masked:x]") + message("b", `"a"`, "[masked:y] two [masked:x]")
	more := message("c", `"b"`, "theirs [masked:x]")
	local := resumeHead + message("a", "null", "one secret") + message("b", `"a"`, "hidden two secret")
	writeTalk(t, dir, local)
	n := &fakeNode{file: masked + more}
	r, err := resumeIn(t, n, dir, ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(r.Path); err != nil || string(got) != local+more {
		t.Errorf("the file has\n%s\nwant\n%s\n%v", got, local+more, err)
	}
	if len(n.imports) > 0 || r.Local != nil {
		t.Errorf("imported %q, %+v", n.imports, r.Local)
	}
}
