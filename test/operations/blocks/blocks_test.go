package blocks_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/operations/blocks"
)

const document = "# A page\n" +
	"\n" +
	"Run `sessctl ls -o json`, or `sessctl`, or `other`:\n" +
	"\n" +
	"<!-- at: n1 -->\n" +
	"```sh\n" +
	"bin/sessctl import \"$FILE\" | grep x   # sessctl is not called here\n" +
	"\n" +
	"for n in 1 2; do go run ./cmd/sessctl export $n --out 'a b'; done\n" +
	"```\n" +
	"    this is no block\n" +
	"\n" +
	"    sessctl a\n" +
	"\n" +
	"    sessctl b\n" +
	"\n" +
	"```yaml\n" +
	"x: sessctl\n" +
	"```\n"

func TestParseFindsBlocksAndSpans(t *testing.T) {
	t.Parallel()
	got, err := blocks.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	want := []blocks.Block{
		{Line: 3, Text: "sessctl ls -o json", Span: true},
		{Line: 3, Text: "sessctl", Span: true},
		{Line: 3, Text: "other", Span: true},
		{Line: 7, At: "n1", Lang: "sh", Fence: true, Text: "bin/sessctl import \"$FILE\" | grep x   # sessctl is not called here\n\nfor n in 1 2; do go run ./cmd/sessctl export $n --out 'a b'; done\n"},
		{Line: 13, Text: "sessctl a\n\nsessctl b\n\n"},
		{Line: 18, Lang: "yaml", Fence: true, Text: "x: sessctl\n"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCallsParsesShellCommands(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	testkit.WriteFile(t, path, []byte(document))
	got, err := blocks.Calls(path, "sessctl")
	if err != nil {
		t.Fatal(err)
	}
	want := []blocks.Call{
		{Line: 3, Args: []string{"ls", "-o", "json"}, Prose: true},
		{Line: 7, Args: []string{"import", "x"}},
		{Line: 9, Args: []string{"export", "x", "--out", "a b"}},
		{Line: 13, Args: []string{"a"}},
		{Line: 15, Args: []string{"b"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestInvalidShellIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	testkit.WriteFile(t, path, []byte("```sh\nsessctl ls | | x\n```\n"))
	if calls, err := blocks.Calls(path, "sessctl"); err == nil {
		t.Errorf("it is read as %v", calls)
	}
	if all, err := blocks.Parse("```sh\nsessctl ls\n"); err == nil {
		t.Errorf("a block without an end is read as %v", all)
	}
}
