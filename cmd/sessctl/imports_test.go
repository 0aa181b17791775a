package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/testkit"
)

// A keeper is a node that keeps what is imported, and nothing else.
type keeper struct {
	*fakeNode
	mu    sync.Mutex
	files map[core.SessionID]*core.File
	sent  []string // the sessions that were sent, in order
	trash map[core.SessionID]bool
	full  int // it answers no more once it has so many; 0 for no end
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{fakeNode: newFake(t), files: map[core.SessionID]*core.File{}}
	k.Mux.HandleFunc("GET /v1/sessions/{id}/digest", func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		id := core.SessionID(r.PathValue("id"))
		f, ok := k.files[id]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(api.Detail{Status: 404, Code: "not-found", Detail: "no session"})
			return
		}
		_ = json.NewEncoder(w).Encode(api.Digested{Session: id, Entries: len(f.Entries), SHA256: api.DigestOf(f.Header, f.Entries), Cursor: core.Cursor{Seq: 1}, Deleted: k.trash[id]})
	})
	k.Mux.HandleFunc("POST /v1/import", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		f, _, err := dialect.Read("", b)
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(api.Detail{Status: 400, Code: "invalid", Detail: "not a session file: invalid"})
		case k.trash[core.SessionIDFor(f.Dialect, f.Header.ID)]:
			w.WriteHeader(http.StatusGone)
			_ = json.NewEncoder(w).Encode(api.Detail{Status: 410, Code: "deleted", Detail: "it was deleted"})
		case k.full > 0 && len(k.files) >= k.full:
			panic(http.ErrAbortHandler)
		default:
			id := core.SessionIDFor(f.Dialect, f.Header.ID)
			_, had := k.files[id]
			k.files[id] = f
			k.sent = append(k.sent, string(id))
			_ = json.NewEncoder(w).Encode(api.Imported{ID: f.Header.ID, Session: id, Created: !had, Entries: len(f.Entries), Version: f.Version})
		}
	})
	return k
}

// home makes a home with so many sessions in two directories.
func home(t *testing.T, sessions int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range sessions {
		writeSession(t, filepath.Join(dir, fmt.Sprintf("cwd-%d", i%2), fmt.Sprintf("s%03d.jsonl", i)), fmt.Sprintf("session-%03d", i), 2)
	}
	return dir
}

func writeSession(t *testing.T, path, id string, entries int) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}`+"\n", id)
	parent := "null"
	for i := range entries {
		fmt.Fprintf(&b, `{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"%d","timestamp":1}}`+"\n", i, parent, i)
		parent = fmt.Sprintf(`"e%d"`, i)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	testkit.WriteFile(t, path, b.Bytes())
}

func TestAWholeHomeIsImportedAndNotSentAgain(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	dir := home(t, 30)
	first := k.run("import", dir)
	wantResult(t, first, 0, "session-000  2 new entries", "sessctl: 30 files: 30 new sessions, 60 new entries\n")
	if n := strings.Count(first.out, "\n"); n != 30 || len(k.sent) != 30 {
		t.Errorf("%d lines, %d files sent, want 30 of each:\n%s", n, len(k.sent), first.out)
	}
	again := k.run("import", dir, filepath.Join(dir, "cwd-1"))
	wantResult(t, again, 0, "", "sessctl: 30 files: 30 unchanged\n")
	if again.out != "" || len(k.sent) != 30 {
		t.Errorf("the second time %d files were sent in all, and it prints\n%s", len(k.sent), again.out)
	}
	writeSession(t, filepath.Join(dir, "cwd-0", "s000.jsonl"), "session-000", 5)
	grown := k.run("import", dir)
	wantResult(t, grown, 0, "session-000  5 new entries", "sessctl: 30 files: 1 continued session, 5 new entries, 29 unchanged\n")
	if len(k.sent) != 31 {
		t.Errorf("%d files were sent in all, want one more", len(k.sent))
	}
	wantResult(t, k.run("import", dir, "--again"), 0, "", "30 files")
	if len(k.sent) != 61 {
		t.Errorf("--again sent %d files", len(k.sent)-31)
	}
	if quiet := k.run("import", dir, "-q"); quiet.out != "" || quiet.err != "" || quiet.code != 0 {
		t.Errorf("quiet: %+v", quiet)
	}
	if n := strings.Count(k.run("import", dir, "-o", "json").out, "\n"); n != 30 {
		t.Errorf("%d objects, want one for each file", n)
	}
}

func TestImportContinuesAfterBadFile(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	dir := home(t, 9)
	bad := filepath.Join(dir, "cwd-0", "a-bad.jsonl")
	testkit.WriteFile(t, bad, []byte("no session\n"))
	gone := filepath.Join(t.TempDir(), "gone.jsonl")
	got := k.run("import", gone, dir)
	wantResult(t, got, cli.ExitNotFound, "session-008", "sessctl: 11 files: 9 new sessions, 18 new entries, 2 failed\nsessctl: import: no such file: "+gone+"\n")
	wantResult(t, got, cli.ExitNotFound, "", "sessctl: import: "+bad+": not a session file\n")
	quiet := k.run("import", "-q", dir)
	wantResult(t, quiet, cli.ExitInvalid, "", bad)
	if strings.Contains(quiet.err, "files") {
		t.Errorf("quiet prints\n%s", quiet.err)
	}
}

// importers is how many files sessctl import sends at a time.
const importers = 4

func TestImportContinuesAfterInterruption(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	dir := home(t, 20)
	k.full = 7
	wantResult(t, k.run("import", dir), cli.ExitUnavailable, "", "were not imported")
	k.set(0)
	wantResult(t, k.run("import", dir), 0, "", "unchanged")
	k.mu.Lock()
	defer k.mu.Unlock()
	// What was under way when it ended may have arrived after that, and been sent again.
	if len(k.files) != 20 || len(k.sent) > 20+importers {
		t.Errorf("%d sessions are there, %d files were sent", len(k.files), len(k.sent))
	}
}

// A session in the trash is not imported back by a file that is still there, and
// its file is no failure each time.
func TestImportCountsFilesOfDeletedSessions(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	dir := home(t, 9)
	wantResult(t, k.run("import", dir), 0, "", "9 new sessions")
	k.mu.Lock()
	k.trash = map[core.SessionID]bool{"session-003": true, "session-004": true}
	k.mu.Unlock()
	want := "sessctl: 9 files: 7 unchanged, 2 of sessions in the trash or erased\nsessctl: list the trash with: sessctl ls --deleted, and restore a session with: sessctl rm --undo SESSION\n"
	wantResult(t, k.run("import", dir), 0, "", want)
	wantResult(t, k.run("import", "--again", dir), 0, "", "2 of sessions in the trash or erased")
	wantResult(t, k.run("import", "-o", "json", dir), 0, `"session":"session-003","created":false,"entries":0,"blobs":0,"skipped":[],"version":"","seq":"0","deleted":true,"cursor":"0"}`, "")
	for _, again := range []string{"--again", "--again=false"} {
		wantResult(t, k.run("import", again, filepath.Join(dir, "cwd-1", "s003.jsonl")), cli.ExitDeleted, "",
			"s003.jsonl: session session-003 is in the trash, or was erased\nhint: if it is in the trash, restore it and import the file again: sessctl rm --undo session-003\n")
	}
}

func (k *keeper) set(full int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.full = full
}
