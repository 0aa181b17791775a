package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A folder of an agent is imported by its name. Files that are no sessions are
// reported and do not stop the others. A second import adds nothing.
func TestImportFolder(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	dir := filepath.Join(t.TempDir(), "sessions")
	below := filepath.Join(dir, "--lab--")
	if err := os.MkdirAll(filepath.Join(below, ".drafts"), 0o700); err != nil {
		t.Fatal(err)
	}
	a, b := harness.NewFile(t, harness.Shape{Turns: 2}), harness.NewFile(t, harness.Shape{Turns: 3})
	a.Save(t, dir)
	b.Save(t, below)
	for _, name := range []string{"notes.jsonl", ".hidden.jsonl", ".drafts/half.jsonl", "readme.txt"} {
		testkit.WriteFile(t, filepath.Join(below, name), []byte("no session\n"))
	}
	if err := os.Symlink(dir, filepath.Join(below, "round")); err != nil {
		t.Fatal(err)
	}

	first := host.Sessctl(t, "import", dir)
	if first.Code != 4 || strings.Count(first.Out, "new entries") != 2 || strings.Count(first.Err, "not a session file") != 1 {
		t.Fatalf("import of a folder: %v", first)
	}
	sameBytes(t, "a session of the folder", harness.Export(t, node.Client(), b.ID), b.Bytes)
	again := host.Sessctl(t, "import", dir)
	if again.Code != 4 || again.Out != "" || !strings.Contains(again.Err, "3 files: 2 unchanged, 1 failed") {
		t.Errorf("a second import: %v", again)
	}
	if none := host.Sessctl(t, "import", filepath.Join(below, ".drafts", "..", ".drafts")); none.Code != 4 {
		t.Errorf("a hidden folder that is named: %v", none)
	}
	if empty := host.Sessctl(t, "import", t.TempDir()); empty.Code != 2 {
		t.Errorf("a folder without sessions: %v", empty)
	}
}
