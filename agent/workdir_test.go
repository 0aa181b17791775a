package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

// The longest prefix in a row decides, and of that row the first directory that
// exists. The same table works on every host.
func TestWorkdirFollowsTheUsersTable(t *testing.T) {
	t.Parallel()
	home := testkit.TempDir(t)
	testkit.MakeFiles(t, home, "work/proj/sub", "work/special", "deep/x", "both/proj")
	h := testHost(map[string]string{"HOME": home})
	h.PathRows = func() ([][]string, string, error) {
		return [][]string{
			{"/home/ann/src", `C:\Users\ann\code`, "~/work"},
			{"/home/ann/src/proj/deep", "~/deep"},
			{"~/both", "/home/bob/src", "~/work"},
		}, "table", nil
	}
	for from, want := range map[string]string{
		"/home/ann/src/proj":             "work/proj",
		"/home/ann/src/./proj//sub/":     "work/proj/sub",
		`c:\Users\ann\code\proj\sub`:     "work/proj/sub",
		"C:/Users/ann/code/special":      "work/special",
		"/home/ann/src":                  "work",
		"/home/ann/src/proj/deep/x":      "deep/x", // the longer prefix
		"/home/bob/src/proj":             "both/proj",
		"/home/bob/src/special":          "work/special",
		filepath.Join(home, "work/proj"): "work/proj",
		"/home/ann/srcs/proj":            "",
		"/home/ann/src/../src/proj":      "",
		"/home/ann/src/not-here":         "",
		"home/ann/src/proj":              "",
	} {
		w, err := h.workdir("", from)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if !w.Gone || w.CWD != from {
				t.Errorf("%s: %+v, want Gone", from, w)
			}
			continue
		}
		if full := filepath.Join(home, want); w.Gone || w.CWD != full || (w.Why == "") != (from == full) {
			t.Errorf("%s: %+v, want %s", from, w, full)
		}
	}
}

func TestWorkdirMatchesTheCurrentRepository(t *testing.T) {
	t.Parallel()
	root := testkit.TempDir(t)
	config := "[core]\n\turl = /not/this\n[remote \"origin\"]\n\turl = https://user:secret@host.example/ann/widget.git\n\tfetch = +refs\n[remote \"mine\"]\nurl=git@host.example:bob/gadget\n[branch \"x\"]\nurl = /nor/that\n"
	testkit.MakeFiles(t, root, "proj/.git/config="+config, "proj/sub/proj/deep", "proj/cmd", "plain/sub",
		"tree/.git=gitdir: ../proj/.git/worktrees/tree\n", "proj/.git/worktrees/tree/commondir=../..\n", "tree/cmd", "empty/.git")
	for _, c := range []struct{ here, from, want, why string }{
		{"proj", "/home/ann/proj", "proj", "same name"},
		{"proj/cmd", "/home/ann/proj/sub", "proj/sub", "same name"},
		{"proj", "/home/ann/proj/sub/proj/deep", "proj/sub/proj/deep", "same name"}, // the last matching element
		{"proj", "/src/widget/cmd", "proj/cmd", "its remote origin"},
		{"proj", `D:\src\gadget\cmd`, "proj/cmd", "its remote mine"},
		{"tree/cmd", "/src/widget/cmd", "tree/cmd", "its remote origin"},
		{"proj", "/src/widget/gone", "", ""},
		{"proj", "/src/this", "", ""},
		{"proj", "/src/that", "", ""},
		{"plain/sub", "/src/proj", "", ""},
		{"empty", "/src/empty", "empty", "same name"},
		{"proj", "widget", "", ""},
	} {
		got, why := inRepository(filepath.Join(root, c.here), c.from)
		want := c.want
		if want != "" {
			want = filepath.Join(root, want)
		}
		if got != want || !strings.Contains(why, c.why) || strings.Contains(why, "secret") {
			t.Errorf("%s, in %s, is %q (%s), want %q", c.from, c.here, got, why, want)
		}
	}
}

func TestWorkdirIsTheGivenOrTheOriginalDirectory(t *testing.T) {
	t.Parallel()
	dir := testkit.TempDir(t)
	h := testHost(map[string]string{"HOME": dir})
	testkit.MakeFiles(t, dir, "was", "says")
	was, says := filepath.Join(dir, "was"), filepath.Join(dir, "says")
	if w, err := h.workdir("", was); err != nil || w != (Workdir{From: was, CWD: was}) {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := h.workdir("~/says", was); err != nil || w.CWD != says || w.Why == "" {
		t.Errorf("%+v, %v", w, err)
	}
	link := filepath.Join(dir, "link")
	testkit.Must(t, os.Symlink(was, link))
	if w, err := h.workdir("", link); err != nil || w.CWD != was || w.Why == "" || h.LocalDir(link) != was {
		t.Errorf("a symbolic link: %+v, %v", w, err)
	}
	if w, err := h.workdir("", ""); err != nil || w != (Workdir{}) {
		t.Errorf("a session without directory: %+v, %v", w, err)
	}
	if _, err := h.workdir(filepath.Join(dir, "gone"), was); !errors.Is(err, ErrUsage) {
		t.Errorf("a missing directory: %v", err)
	}
}
