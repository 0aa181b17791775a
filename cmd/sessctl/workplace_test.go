package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// makeAll makes directories below root, and files of those that have content.
func makeAll(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path, content, isFile := strings.Cut(name, "=")
		path = filepath.Join(root, path)
		if isFile {
			makeAll(t, filepath.Dir(path), ".")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// The longest beginning of the path that is in a row decides, and of that row
// the first directory that is here. The same table does on every host.
func TestATableSaysWhereASessionGoesOn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	makeAll(t, home, "work/proj/sub", "work/special", "deep/x", "both/proj", `.config/sesslog/sesslog=x`)
	table := `# the same directories, as each host has them
paths:
  - [/home/ann/src, 'C:\Users\ann\code', ~/work]
  - [/home/ann/src/proj/deep, ~/deep]
  - [~/both, /home/bob/src, ~/work]
`
	makeAll(t, home, ".config/sesslog/sessctl.yaml="+table)
	a := testApp(map[string]string{"HOME": home})
	for from, want := range map[string]string{
		"/home/ann/src/proj":             "work/proj",
		"/home/ann/src/./proj//sub/":     "work/proj/sub",
		`c:\Users\ann\code\proj\sub`:     "work/proj/sub",
		"C:/Users/ann/code/special":      "work/special",
		"/home/ann/src":                  "work",
		"/home/ann/src/proj/deep/x":      "deep/x", // the longer beginning
		"/home/bob/src/proj":             "both/proj",
		"/home/bob/src/special":          "work/special",
		filepath.Join(home, "work/proj"): "work/proj",
		"/home/ann/srcs/proj":            "",
		"/home/ann/src/../src/proj":      "",
		"/home/ann/src/not-here":         "",
		"home/ann/src/proj":              "",
	} {
		w, err := a.workplace("", from)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if !w.Gone || w.CWD != from {
				t.Errorf("%s goes on in %+v, want nowhere", from, w)
			}
			continue
		}
		if full := filepath.Join(home, want); w.Gone || w.CWD != full || (w.Why == "") != (from == full) {
			t.Errorf("%s goes on in %+v, want %s", from, w, full)
		}
	}
}

func TestATableWithAFaultIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"paths:\n  - [/a]\n":        "row 1: it names one directory",
		"paths:\n  - [/a, src/b]\n": `row 1: "src/b" is no directory from the root or from ~`,
		"paths:\n  - [/a, /b/../c]": "row 1",
		"path:\n  - [/a, /b]\n":     "field path not found",
		"paths: {/a: /b}\n":         "cannot unmarshal",
		"\x00":                      "sessctl.yaml",
	} {
		home := t.TempDir()
		makeAll(t, home, "sesslog/sessctl.yaml="+text)
		a := testApp(map[string]string{"XDG_CONFIG_HOME": home})
		if _, err := a.workplace("", "/nowhere/here"); err == nil || !strings.Contains(err.Error(), want) || describe(err, "").Exit != exitInvalid {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The repository at hand is taken for the session's where a part of its path is
// called as it is, or as a remote of it is, and what is behind is here.
func TestTheRepositoryAtHandIsAGuess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	config := "[core]\n\turl = /not/this\n[remote \"origin\"]\n\turl = https://user:secret@host.example/ann/widget.git\n\tfetch = +refs\n[remote \"mine\"]\nurl=git@host.example:bob/gadget\n[branch \"x\"]\nurl = /nor/that\n"
	makeAll(t, root, "proj/.git/config="+config, "proj/sub/proj/deep", "proj/cmd", "plain/sub",
		"tree/.git=gitdir: ../proj/.git/worktrees/tree\n", "proj/.git/worktrees/tree/commondir=../..\n", "tree/cmd", "empty/.git")
	for _, c := range []struct{ here, from, want, why string }{
		{"proj", "/home/ann/proj", "proj", "same name"},
		{"proj/cmd", "/home/ann/proj/sub", "proj/sub", "same name"},
		{"proj", "/home/ann/proj/sub/proj/deep", "proj/sub/proj/deep", "same name"}, // the last part that will do
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
		got, why := guessed(filepath.Join(root, c.here), c.from)
		want := c.want
		if want != "" {
			want = filepath.Join(root, want)
		}
		if got != want || !strings.Contains(why, c.why) || strings.Contains(why, "secret") {
			t.Errorf("%s, in %s, is %q (%s), want %q", c.from, c.here, got, why, want)
		}
	}
}

func TestWhereItWasOrWhereTheUserSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := testApp(map[string]string{"HOME": dir})
	makeAll(t, dir, "was", "says")
	was, says := filepath.Join(dir, "was"), filepath.Join(dir, "says")
	if w, err := a.workplace("", was); err != nil || w != (workplace{From: was, CWD: was}) {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := a.workplace("~/says", was); err != nil || w.CWD != says || w.Why == "" {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err := a.workplace("", ""); err != nil || w != (workplace{}) {
		t.Errorf("a session that was nowhere: %+v, %v", w, err)
	}
	if _, err := a.workplace(filepath.Join(dir, "gone"), was); describe(err, "").Exit != exitUsage {
		t.Errorf("a directory that is not here: %v", err)
	}
}

// The header of the file says where the session goes on, no other byte of it
// changes, and the file is where the agent looks for it from there.
func TestTheFileSaysWhereTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	text := strings.Replace(talk("a"), `"cwd":"/"`, `"cwd":"/lab/x"`, 1)
	f, _ := resumable(t, text)
	cwd := filepath.Join(f.home, "a b", "lab.x")
	makeAll(t, cwd, ".")
	got := f.run("resume", testID, "--cwd", cwd)
	wantResult(t, got, 0, "", "sessctl: it goes on in "+cwd+" (it was /lab/x): --cwd says so")
	dir := filepath.Join(f.home, ".pi/agent/sessions", "--"+strings.ReplaceAll(cwd[1:], "/", "-")+"--")
	wantFiles(t, dir, map[string]string{talkFile: strings.Replace(text, `"/lab/x"`, `"`+cwd+`"`, 1)})
	// It is the same session's file.
	wantResult(t, f.run("resume", testID, "--cwd", cwd, "--dir", dir, "-o", "json"), 0, `"cwd":{"from":"/lab/x","cwd":"`+cwd+`","why":"--cwd says so"}`, "")
	wantResult(t, f.run("resume", testID, "--dir", dir), 0, "", "sessctl: it worked in /lab/x, which is not here; say where it goes on with: --cwd DIR")
	wantFiles(t, dir, map[string]string{talkFile: text})
	wantResult(t, f.run("resume", testID, "--", "agent"), exitNotFound, "", "it worked in /lab/x, which is not here\nnext: say where it goes on with: --cwd DIR")
}
