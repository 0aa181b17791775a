package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
)

const bundleID = "11111111-2222-4333-8444-555555555555"

// bundleHome makes an agent's home with a session of several files, and files of
// no session.
func bundleHome(t *testing.T) (dir string, files map[string]string) {
	t.Helper()
	dir = t.TempDir()
	head := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Which port?"},"uuid":"u1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/lab","sessionId":"` + bundleID + `"}`
	files = map[string]string{
		"projects/-lab/" + bundleID + ".jsonl": `{"type":"mode","mode":"normal"}` + "\n" + head + "\n" +
			`{"type":"mode","mode":"normal"}` + "\n" + `{"torn`,
		"projects/-lab/" + bundleID + "/subagents/agent-a.jsonl":     strings.ReplaceAll(head, "false", "true") + "\n",
		"projects/-lab/" + bundleID + "/subagents/agent-a.meta.json": "{}",
		"projects/-lab/" + bundleID + "/tool-results/b.txt":          strings.Repeat("output\n", 9000),
	}
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, path, []byte(text))
	}
	for name, text := range files {
		write(name, text)
	}
	write("history.jsonl", `{"display":"Which port?","sessionId":"`+bundleID+`"}`+"\n")
	write("sessions/1.json", `{"pid":1,"sessionId":"`+bundleID+`"}`)
	return dir, files
}

// newExporter is a keeper that gives sessions back.
func newExporter(t *testing.T) *keeper {
	k := newKeeper(t)
	k.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.List{Sessions: []catalog.Row{{ID: bundleID}}})
	})
	k.Mux.HandleFunc("GET /v1/sessions/{id}/export", func(w http.ResponseWriter, r *http.Request) {
		f := k.files[core.SessionID(r.PathValue("id"))]
		_, _ = w.Write(core.Lines(f.Header.Before(f.Entries)))
	})
	return k
}

func TestSessionOfSeveralFilesIsRestored(t *testing.T) {
	t.Parallel()
	k := newExporter(t)
	dir, files := bundleHome(t)
	wantResult(t, k.run("import", dir), 0, bundleID, "")
	again := k.run("import", filepath.Join(dir, "projects", "-lab", bundleID+".jsonl"))
	if len(k.sent) != 1 || !strings.Contains(again.out, "nothing new") {
		t.Errorf("%d files were sent; the second import says %+v", len(k.sent), again)
	}

	home := t.TempDir()
	wantResult(t, k.run("export", bundleID, "--home", home), 0, "agent-a.meta.json", "")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
	elsewhere := filepath.Join(home, "projects", "-other-place", bundleID+".jsonl")
	wantResult(t, k.run("export", bundleID, "--home", home, "--cwd", "/other place"), 0, elsewhere, "")

	testkit.WriteFile(t, elsewhere, []byte("longer\n"))
	refused := k.run("export", bundleID, "--home", home, "--cwd", "/other place")
	if refused.code == 0 || !strings.Contains(refused.err, "exists with different content") {
		t.Errorf("a file with different content: %+v", refused)
	}
	wantResult(t, k.run("export", bundleID, "--home", home, "--cwd", "/other place", "--force"), 0, elsewhere, "")
	if got, _ := os.ReadFile(elsewhere); string(got) != files["projects/-lab/"+bundleID+".jsonl"] {
		t.Errorf("--force left %q", got)
	}
}

func TestExportHomeStaysBelowHome(t *testing.T) {
	t.Parallel()
	k := newExporter(t)
	dir, _ := bundleHome(t)
	wantResult(t, k.run("import", dir), 0, bundleID, "")
	home, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(home, "projects")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if res := k.run("export", bundleID, "--home", home); res.code == 0 {
		t.Errorf("export through a link: %+v", res)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%s was written outside", left[0].Name())
	}
}
