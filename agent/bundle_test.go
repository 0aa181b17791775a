package agent

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/claude"
	"github.com/sesslog/sesslog/internal/testkit"
)

const bundleID = "0199aaaa-0000-7000-8000-000000000001"

// A bundleNode has one session of several files.
type bundleNode struct {
	fakeNode
	packed string
}

func (n *bundleNode) File(context.Context, string, string) (io.ReadCloser, client.Place, error) {
	return io.NopCloser(strings.NewReader(n.file)), client.Place{Dir: "-a", Name: bundleID + ".jsonl", Cursor: core.Cursor{Seq: 4}, Dialect: "claude"}, nil
}

func (n *bundleNode) ExportPacked(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(n.packed)), nil
}

// newBundleNode packs a main file and the companions by their names.
func newBundleNode(t *testing.T, main string, companions map[string]string) *bundleNode {
	t.Helper()
	files := []bundle.File{{Path: bundleID + ".jsonl", Data: []byte(main)}}
	for name, text := range companions {
		files = append(files, bundle.File{Path: bundleID + "/" + name, Data: []byte(text)})
	}
	f, err := claude.Dialect{}.Pack(bundleID+".jsonl", files)
	if err != nil {
		t.Fatal(err)
	}
	return &bundleNode{fakeNode{file: main}, string(core.Lines(f.Header.Before(f.Entries)))}
}

const bundlePrompt = `{"parentUuid":null,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/","sessionId":"` + bundleID + `"}` + "\n"

func TestResumeWritesEveryFileOfSession(t *testing.T) {
	t.Parallel()
	n := newBundleNode(t, bundlePrompt, map[string]string{"subagents/agent-a.jsonl": "{}\n", "tool-results/b.txt": "out"})
	home, cwd := t.TempDir(), t.TempDir()
	r, err := Resume(t.Context(), testHost(map[string]string{"HOME": home}), n, bundleID, ResumeOptions{ClaimOptions: ClaimOptions{Head: core.MainHead}, CWD: cwd})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".claude", "projects", claude.Folder(realPath(cwd)))
	for name, want := range map[string]string{
		bundleID + ".jsonl":                   bundlePrompt,
		bundleID + "/subagents/agent-a.jsonl": "{}\n",
		bundleID + "/tool-results/b.txt":      "out",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s contains %q, %v", name, got, err)
		}
	}
	if args := OpenArgs(r.Dialect, r.Path); strings.Join(args, " ") != "--resume "+bundleID {
		t.Errorf("the agent is started with %q", args)
	}
}

func TestResumeKeepsForeignCompanions(t *testing.T) {
	t.Parallel()
	n := newBundleNode(t, bundlePrompt, map[string]string{"a.jsonl": "{}\n{}\n", "b.txt": "ours", "c.jsonl": "{}\n"})
	dir := t.TempDir()
	for name, text := range map[string]string{"a.jsonl": "{}\n", "b.txt": "theirs", "c.jsonl": "{}\n[]\n"} {
		if err := os.MkdirAll(filepath.Join(dir, bundleID), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, filepath.Join(dir, bundleID, name), []byte(text))
	}
	h := testHost(map[string]string{"HOME": t.TempDir()})
	noted := 0
	h.Note = func(string) { noted++ }
	if _, err := Resume(t.Context(), h, n, bundleID, ResumeOptions{ClaimOptions: ClaimOptions{Head: core.MainHead}, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.jsonl": "{}\n{}\n", "b.txt": "theirs", "c.jsonl": "{}\n[]\n"} {
		if got, _ := os.ReadFile(filepath.Join(dir, bundleID, name)); string(got) != want {
			t.Errorf("%s contains %q, want %q", name, got, want)
		}
	}
	if noted == 0 {
		t.Error("the user is not told of the file that stays")
	}
}

func TestResumeFollowsNoLinkOfCompanions(t *testing.T) {
	t.Parallel()
	n := newBundleNode(t, bundlePrompt, map[string]string{"a.txt": "x"})
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, bundleID)); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err := Resume(t.Context(), testHost(map[string]string{"HOME": t.TempDir()}), n, bundleID, ResumeOptions{ClaimOptions: ClaimOptions{Head: core.MainHead}, Dir: dir})
	if left, _ := os.ReadDir(outside); err == nil || len(left) > 0 {
		t.Errorf("error %v, %d files outside", err, len(left))
	}
}
