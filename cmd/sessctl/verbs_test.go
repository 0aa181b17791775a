package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/catalog"
)

func mine(writer string) *core.Claim {
	return &core.Claim{Agent: "pi", Host: "a-host", Writer: writer, Epoch: 2}
}

// grants has claims on testID granted to writer.
func (f *fakeNode) grants(writer string, former *core.Claim) {
	f.Answers("POST /v1/sessions/"+testID+"/claims", api.Claimed{Claim: *mine(writer), Head: "main", Former: former})
}

func TestAppendSendsLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var got string
	var h http.Header
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, h = string(b), r.Header
		_ = json.NewEncoder(w).Encode(core.Receipt{IDs: []string{"a", "b"}, Stored: 1, Blobs: 2, Cursor: core.Cursor{Seq: 7}})
	})
	f.stdin = "{\"n\":1.0}\r\n\n{\"n\": 2}"
	wantResult(t, f.run("append", "01aa", "--head", "side", "--writer", "w", "--after", "3-0000000000000000"), 0,
		"1 line stored, 1 existed, 2 blobs, at 7-0000000000000000\n  a\n  b\n", "")
	if got != f.stdin {
		t.Errorf("sent %q, want %q", got, f.stdin)
	}
	if h.Get(api.HeaderHead) != "side" || h.Get(api.HeaderWriter) != "w" || h.Get("If-Match") != "3-0000000000000000" || len(h.Get(api.HeaderIdempotency)) != 26 {
		t.Errorf("headers %v", h)
	}
	wantResult(t, f.run("append", testID, "--key", "k", "-o", "json"), 0, `{"ids":["a","b"],"seq":"7-0000000000000000","stored":1,"blobs":2,"cursor":"7-0000000000000000"}`+"\n", "")
	if h.Get(api.HeaderIdempotency) != "k" {
		t.Errorf("headers %v", h)
	}
	f.stdin = " \n\n"
	wantResult(t, f.run("append", testID), cli.ExitInvalid, "", "standard input is empty")
}

// A lost answer is asked for again under the same key; when time runs out, the
// key is told.
func TestAppendRetries(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var tries atomic.Int32
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, r *http.Request) {
		if tries.Add(1) == 1 || r.Header.Get(api.HeaderHead) == "lost" {
			panic(http.ErrAbortHandler)
		}
		_ = json.NewEncoder(w).Encode(core.Receipt{})
	})
	f.stdin = "{}"
	wantResult(t, f.run("append", testID), 0, "0 lines stored", "")
	wantResult(t, f.run("append", testID, "--head", "lost", "--key", "my-key", "--timeout", "100ms"), cli.ExitUnavailable, "",
		"hint: repeat the append with: --key my-key (the lines are stored once)\n")
}

func TestWritesSpeakFromTheRememberedClaim(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.grants("w1", nil)
	var writer atomic.Value
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/labels", func(w http.ResponseWriter, r *http.Request) {
		writer.Store(r.Header.Get(api.HeaderWriter))
		_ = json.NewEncoder(w).Encode(core.Receipt{IDs: []string{"x"}, Stored: 1})
	})
	label := func(args ...string) string {
		t.Helper()
		wantResult(t, f.run(append([]string{"label", testID, "e", "good"}, args...)...), 0, "", "")
		return writer.Load().(string)
	}
	if w := label(); w != "" {
		t.Errorf("spoke from %q before there was a claim", w)
	}
	wantResult(t, f.run("claim", testID), 0, "you hold head main of session "+testID+"\n", "")
	if w := label(); w != "w1" {
		t.Errorf("spoke from %q, want the claim", w)
	}
	if w := label("--head", "other"); w != "" {
		t.Errorf("spoke from %q on another head", w)
	}
	if w := label("--no-claim"); w != "" {
		t.Errorf("spoke from %q in spite of --no-claim", w)
	}
	if w := label("--writer", "w9"); w != "w9" {
		t.Errorf("spoke from %q, want the flag", w)
	}
	wantResult(t, f.runWith(map[string]string{"SESS_WRITER": "w8"}, "label", testID, "e", "good"), 0, "", "")
	if w := writer.Load(); w != "w8" {
		t.Errorf("spoke from %q, want the environment", w)
	}
	f.Mux.HandleFunc("DELETE /v1/sessions/"+testID+"/claims/w1", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	wantResult(t, f.run("release", testID, "-o", "json"), 0, `{"session":"`+testID+`","head":"main","writer":"w1"}`, "")
	if w := label(); w != "" {
		t.Errorf("spoke from %q, which was released", w)
	}
	wantResult(t, f.run("release", testID), cli.ExitUsage, "", "remembers no claim")
}

func TestFencedClaimIsForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		holder *core.Claim
		want   string
	}{
		{"held", mine("w2"), `it is held now by pi on a-host` + "\nhint: take it back with: sessctl resume " + testID},
		{"free", nil, "no writer holds it now\nhint: retry without a claim"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.Has([]string{testID})
			f.grants("w1", nil)
			f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/name", func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get(api.HeaderWriter) == "" {
					_ = json.NewEncoder(w).Encode(core.Receipt{})
					return
				}
				w.WriteHeader(http.StatusConflict)
				_ = json.NewEncoder(w).Encode(api.Detail{Status: 409, Code: "fenced", Detail: "held", Head: "main", Holder: c.holder})
			})
			f.run("claim", testID)
			wantResult(t, f.run("name", testID, "N"), cli.ExitFenced, "", c.want)
			wantResult(t, f.run("name", testID, "N"), 0, "", "") // the memory is gone
		})
	}
}

func TestClaimAgainIsMine(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var granted atomic.Bool
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/claims", func(w http.ResponseWriter, _ *http.Request) {
		if granted.CompareAndSwap(false, true) {
			_ = json.NewEncoder(w).Encode(api.Claimed{Claim: *mine("w1"), Head: "main"})
			return
		}
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.Detail{Status: 409, Code: "fenced", Detail: "held", Holder: mine("w1")})
	})
	first := f.run("claim", testID, "-o", "json")
	wantResult(t, first, 0, `"writer":"w1","epoch":2,"head":"main"}`, "")
	wantResult(t, f.run("claim", testID, "-o", "json"), 0, first.out, "")
	other := *f
	other.home = t.TempDir()
	wantResult(t, other.run("claim", testID), cli.ExitFenced, "", "hint: take it over with: sessctl claim --take-over "+testID)
}

// resumable has testID resumed as text.
func resumable(t *testing.T, text string) (*fakeNode, *atomic.Int32) {
	t.Helper()
	f := newFake(t)
	f.Has([]string{testID})
	return f, givesFile(t, f, text)
}

// givesFile makes f give testID as the file text, and claims of its head. It returns
// the number of claims.
func givesFile(t *testing.T, f *fakeNode, text string) *atomic.Int32 {
	t.Helper()
	f.file.Store(text)
	f.info.Store(`{"log":{"dialect":"pi"}}`)
	f.Mux.HandleFunc("GET /v1/sessions/"+testID, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, f.info.Load().(string))
	})
	f.Answers("GET /v1/sessions/"+testID+"/heads", api.Heads{Session: testID, Heads: []api.HeadInfo{
		{Head: "main", Claim: &core.Claim{Agent: "omp", Host: "b-host", Writer: "w0"}, Life: &session.Life{State: "unknown"}},
	}})
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/file", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderDir, "--lab--")
		w.Header().Set(api.HeaderFile, "talk.jsonl")
		if r.URL.Query().Get("head") == "evil" {
			w.Header().Set(api.HeaderFile, "../talk.jsonl")
		}
		w.Header().Set(api.HeaderCursor, "4-0000000000000000")
		_, _ = io.WriteString(w, f.file.Load().(string))
	})
	var claims atomic.Int32
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/claims", func(w http.ResponseWriter, r *http.Request) {
		claims.Add(1)
		var q core.ClaimRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !q.TakeOver || q.Agent != "pi" {
			t.Errorf("asked for %+v, %v", q, err)
		}
		_ = json.NewEncoder(w).Encode(api.Claimed{Claim: *mine("w1"), Head: "main", Former: &core.Claim{Agent: "omp", Host: "b-host", Writer: "w0"}})
	})
	return &claims
}

// talk is a session of pi that said so much.
func talk(said ...string) string {
	text := `{"type":"session","version":3,"id":"talk-one","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/"}` + "\n"
	parent := "null"
	for i, id := range said {
		text += fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:%02d.000Z","message":{"role":"user","content":"hi"}}`, id, parent, i) + "\n"
		parent = fmt.Sprintf("%q", id)
	}
	return text
}

const talkFile = "2026-01-02T03-04-05-678Z_talk-one.jsonl"

func TestResume(t *testing.T) {
	t.Parallel()
	f, claims := resumable(t, talk("a", "b"))
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, talkFile)
	wantResult(t, f.run("resume", testID, "--dir", dir, "-o", "json"), 0,
		fmt.Sprintf(`{"id":%q,"path":%q,"head":"main","writer":"w1","epoch":2,"seq":"4-0000000000000000","cwd":{"from":"/","cwd":"/"},"former":{"agent":"omp","host":"b-host","writer":"w0"},"life":{"state":"unknown"},"cursor":"4-0000000000000000"}`+"\n", testID, path), "")
	testkit.WantFiles(t, dir, map[string]string{talkFile: talk("a", "b")})

	// Replaces an older file of the session and keeps its mode.
	_ = os.WriteFile(path, []byte(talk("a")), 0o600)
	_ = os.Chmod(path, 0o640)
	wantResult(t, f.run("resume", testID, "--dir", dir), 0, path+"\n", "")
	testkit.WantFiles(t, dir, map[string]string{talkFile: talk("a", "b")})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}

	// Does not replace a file that conflicts with the log, and does not fence.
	other := strings.Replace(talk("a", "b"), `"hi"`, `"ho"`, 1)
	_ = os.WriteFile(path, []byte(other), 0o600)
	before := claims.Load()
	wantResult(t, f.run("resume", testID, "--dir", dir), cli.ExitConflict, "", `already exists: line 2 (entry "a"): the log has other bytes under this id
hint: list its entries with: sessctl entries `+path+`, or keep it under another name with: --force`)
	if claims.Load() != before {
		t.Error("a claim was made for a file that is not written")
	}
	testkit.WantFiles(t, dir, map[string]string{talkFile: other})
	got := f.run("resume", testID, "--dir", dir, "--force")
	wantResult(t, got, 0, "taken over from omp on b-host, not known to be alive; its next write will be refused", "")
	wantResult(t, got, 0, "the existing file is kept as "+path+".", "")
	if kept, err := filepath.Glob(path + ".*.aside"); err != nil || len(kept) != 1 {
		t.Errorf("kept are %q, %v", kept, err)
	} else if b, err := os.ReadFile(kept[0]); err != nil || string(b) != other {
		t.Errorf("kept is %q, %v", b, err)
	} else {
		_ = os.Remove(kept[0])
	}
	testkit.WantFiles(t, dir, map[string]string{talkFile: talk("a", "b")})
}

func TestResumeImportsLocalLines(t *testing.T) {
	t.Parallel()
	mine := talk("a", "c", "d")
	all := talk("a", "b") + strings.TrimPrefix(mine, talk("a"))
	for _, head := range []string{"", "main-1"} {
		f, _ := resumable(t, talk("a", "b"))
		dir := t.TempDir()
		path := filepath.Join(dir, talkFile)
		old := mine + "half a li"
		_ = os.WriteFile(path, []byte(old), 0o600)
		f.Mux.HandleFunc("POST /v1/import", func(w http.ResponseWriter, r *http.Request) {
			if b, _ := io.ReadAll(r.Body); string(b) != old || r.URL.Query().Get("onConflict") != "branch" || r.Header.Get(api.HeaderWriter) != "w1" {
				t.Errorf("imported is %q, %s, by %q", b, r.URL, r.Header.Get(api.HeaderWriter))
			}
			f.file.Store(all)
			_ = json.NewEncoder(w).Encode(api.Imported{Session: testID, Entries: 2, Head: head})
		})
		want := "the existing file had 2 lines (3 to 4) that the log lacked: they are in the log now, and the file continues after them"
		if head != "" {
			want = "the existing file had 2 lines (3 to 4) that the log lacked: the session continued without them, so they are on the head main-1 now; " +
				"to continue with them instead: sessctl resume --head main-1 " + testID
		}
		would := f.run("resume", testID, "--dir", dir, "--dry-run")
		wantResult(t, would, 0, "the existing file has 2 lines (3 to 4) that the log lacks, which would be imported", "")
		testkit.WantFiles(t, dir, map[string]string{talkFile: old})
		got := f.run("resume", testID, "--dir", dir)
		wantResult(t, got, 0, want, "")
		wantResult(t, got, 0, "is kept as "+path, "")
		if kept, _ := filepath.Glob(path + ".*.aside"); len(kept) == 1 {
			_ = os.Remove(kept[0])
		}
		testkit.WantFiles(t, dir, map[string]string{talkFile: all})
	}
}

func TestResumeDryRunChangesNothing(t *testing.T) {
	t.Parallel()
	f, claims := resumable(t, talk("a"))
	dir := filepath.Join(t.TempDir(), "new")
	wantResult(t, f.run("resume", testID, "--dir", dir, "--dry-run"), 0, filepath.Join(dir, talkFile)+
		"\n  would be written, as of 4-0000000000000000; head main of "+testID+" is held by omp on b-host, not known to be alive\n", "")
	wantResult(t, f.run("resume", testID, "--dir", dir, "--dry-run", "-o", "json"), 0, `"holder":{"agent":"omp","host":"b-host","writer":"w0"},"life":{"state":"unknown"},"dryRun":true,"cursor":"4-0000000000000000"}`, "")
	if fileExists(dir) || claims.Load() > 0 || fileExists(filepath.Join(f.home, ".local")) {
		t.Error("it has done something")
	}
}

func TestResumeRejectsPathsOfTheNode(t *testing.T) {
	t.Parallel()
	f, _ := resumable(t, "no session\n")
	wantResult(t, f.run("resume", testID, "--dir", t.TempDir(), "--head", "evil"), cli.ExitInvalid, "", "not a file name")
}

func TestResumeWritesToTheAgentsDirectory(t *testing.T) {
	t.Parallel()
	f, _ := resumable(t, talk("a"))
	wantResult(t, f.run("resume", testID), 0, filepath.Join(f.home, ".pi/agent/sessions/----", talkFile), "")
	wantResult(t, f.runWith(map[string]string{"PI_CODING_AGENT_DIR": "~/own"}, "resume", testID), 0, filepath.Join(f.home, "own/sessions/----", talkFile), "")
	wantResult(t, f.runWith(map[string]string{"PI_CODING_AGENT_SESSION_DIR": "~/flat"}, "resume", testID), 0, filepath.Join(f.home, "flat", talkFile), "")
	other, _ := resumable(t, "of an agent that is not known here\n") // the node names the path
	wantResult(t, other.run("resume", testID), 0, filepath.Join(other.home, ".pi/agent/sessions/--lab--/talk.jsonl"), "")
}

func TestResumeLeavesNothingAfterBrokenResponse(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.Answers("GET /v1/sessions/"+testID, api.Info{Log: api.LogInfo{Dialect: "pi"}})
	f.Answers("GET /v1/sessions/"+testID+"/heads", api.Heads{})
	f.grants("w1", nil)
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.HeaderFile, "talk.jsonl")
		_, _ = io.WriteString(w, "half of it")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	dir := t.TempDir()
	wantResult(t, f.run("resume", testID, "--dir", dir), cli.ExitUnavailable, "", "the node's response ended early")
	testkit.WantFiles(t, dir, nil)
}

func TestImportSaysWhatBecameOfEachFile(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Mux.HandleFunc("POST /v1/import", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if !strings.HasPrefix(string(b), `{"type":"session"`) {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(api.Detail{Status: 400, Code: "invalid", Detail: "not a session file: invalid"})
			return
		}
		_ = json.NewEncoder(w).Encode(api.Imported{ID: "agent-id", Session: "agent-id", Created: true, Entries: 3, Blobs: 1, Version: "1", Kept: core.DigestOf(b)})
	})
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.jsonl"), filepath.Join(dir, "bad.jsonl")
	_ = os.WriteFile(good, []byte(`{"type":"session","id":"agent-id","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/"}`+"\n"), 0o600)
	_ = os.WriteFile(bad, []byte("words"), 0o600)
	wantResult(t, f.run("import", good), 0,
		"agent-id  3 new entries, 1 blob  ("+good+")\n  migrated from version 1 to 3; the original file is stored: sessctl export --original agent-id\n", "")
	got := f.run("import", "-o", "json", bad, good, filepath.Join(dir, "gone.jsonl"), good)
	wantResult(t, got, cli.ExitInvalid, `{"file":"`+good+`","id":"agent-id","session":"agent-id","created":true,"entries":3,"blobs":1,"skipped":[],"version":"1","original":"sha256:`, `"detail":"`+bad+`: not a session file"`)
	if n := strings.Count(got.out, "\n"); n != 2 {
		t.Errorf("%d results, want 2:\n%s", n, got.out)
	}
	if n := strings.Count(got.err, "\n"); n != 2 {
		t.Errorf("%d errors, want 2:\n%s", n, got.err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	events := []api.Event{
		{Seq: 1, Cursor: core.Cursor{Seq: 1}, Kind: core.KindOpen, Head: "main", Entries: []json.RawMessage{
			[]byte(`{"type":"session"}`), []byte(`{"type":"message","message":{"role":"user","content":"a<b\u001b"}}`),
		}},
		{Seq: 2, Cursor: core.Cursor{Seq: 2}, Kind: core.KindClaim, Head: "main", Body: []byte(`{"agent":"pi","host":"h"}`)},
	}
	ended := make(chan struct{}, 1)
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/events", func(w http.ResponseWriter, r *http.Request) {
		for _, ev := range events {
			_, _ = fmt.Fprintf(w, "id: %s\ndata: ", ev.Cursor)
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			_ = enc.Encode(ev)
			_, _ = io.WriteString(w, "\n")
		}
		_ = http.NewResponseController(w).Flush()
		if r.URL.Query().Get("wait") != "false" {
			ended <- struct{}{}
			<-r.Context().Done()
		}
	})
	wantResult(t, f.run("tail", testID), 0, `1-0000000000000000  main  session
1-0000000000000000  main  message  user: a<b␛
2-0000000000000000  main  claim  pi on h
`, "")
	got := f.run("tail", testID, "-o", "json")
	wantResult(t, got, 0, `"content":"a<b\u001b"`, "")
	if n := strings.Count(got.out, "\n"); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
	wantResult(t, f.run("tail", "-f", testID, "--timeout", "200ms"), 0, "claim  pi on h", "")
	<-ended

	// An interrupt is how following ends.
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"tail", "-f", testID, "--url", f.URL}, func(string) string { return "" }, strings.NewReader(""), io.Discard, io.Discard)
	}()
	<-ended
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestLs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	row := catalog.Row{ID: testID, ShortID: "01aa", Dialect: "pi", CWD: "/lab", Entries: 3, Seq: 2, Summary: display.Summary{
		First: "say\x1b hi", Modified: "2001-02-03T04:05:06.000Z", Messages: 2, Usage: item.Usage{Cost: 0.499},
	}}
	f.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		list := api.List{Sessions: []catalog.Row{row}, Next: "2"}
		if r.URL.Query().Get("after") == "2" {
			list = api.List{Sessions: []catalog.Row{{ID: "01bbbbbb", ShortID: "01bbbb", Deleted: true, CWD: "/x"}}}
		}
		if r.URL.Query().Get("prefix") == "none" {
			list = api.List{}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	wantResult(t, f.run("ls"), 0, `ID      AGENT  WHEN        MSGS  COST   STATE    PROJECT  TITLE
01aa    pi     2001-02-03  2     $0.50           lab      say␛ hi
01bbbb                                  deleted  x        -
`, "")
	wantResult(t, f.run("ls", "--limit", "1"), 0, "say", "there are more")
	wantResult(t, f.run("ls", "none"), 0, "", "no session matches")
	wantResult(t, f.run("ls", "none", "-o", "json"), 0, "[]\n", "")
	var rows []catalog.Row
	if err := json.Unmarshal([]byte(f.run("ls", "-o", "json").out), &rows); err != nil || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestRmAndUndo(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{"here-0001"}, "gone-0001")
	var why string
	f.Mux.HandleFunc("POST /v1/sessions/here-0001/delete", func(w http.ResponseWriter, r *http.Request) {
		var n api.Notice
		_ = json.NewDecoder(r.Body).Decode(&n)
		why = n.By + ": " + n.Why
		_, _ = io.WriteString(w, "{}")
	})
	f.Answers("POST /v1/sessions/gone-0001/undelete", struct{}{})
	wantResult(t, f.run("rm", "here", "--why", "done with"), 0, "restore it with: sessctl rm --undo here-0001", "")
	if why != "tester: done with" {
		t.Errorf("the log was told %q", why)
	}
	wantResult(t, f.run("rm", "--undo", "gone", "-o", "json"), 0, `{"id":"gone-0001","deleted":false}`, "")
	wantResult(t, f.run("rm", "--undo", "here"), cli.ExitNotFound, "", "sessctl: rm: session here-0001 is not in the trash\nhint: list the trash with: sessctl ls --deleted\n")
	wantResult(t, f.run("rm", "--undo", "here-000"), cli.ExitNotFound, "", "sessctl: rm: session here-0001 is not in the trash\n") // a valid id, too
	wantResult(t, f.run("rm", "--undo", "nothing"), cli.ExitNotFound, "", "hint: list the trash with: sessctl ls --deleted")
}

func TestVerify(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{"good-0001", "harm-0001"}, "gone-0001")
	for _, id := range []string{"good-0001", "gone-0001"} {
		f.Answers("GET /v1/sessions/"+id+"/verify", api.Report{Verification: report.Verification{Session: core.SessionID(id), Records: 2, Entries: 1}})
	}
	harm := []report.Problem{{Kind: "blob", What: "sha256:12", Detail: "it is not there", Next: "restore it"}}
	f.Answers("GET /v1/sessions/harm-0001/verify", api.Report{Verification: report.Verification{Session: "harm-0001", Problems: harm}})
	f.Answers("POST /v1/sessions/harm-0001/repair", api.Report{Verification: report.Verification{Session: "harm-0001", Rewritten: 2}, Repaired: harm})
	f.Answers("GET /v1/verify", api.LogReport{Log: "main", Sessions: []core.SessionID{"good-0001", "harm-0001", "gone-0001"}})
	wantResult(t, f.run("verify", "good"), 0, "good-0001  all is well: 2 records, 1 entry, 0 blobs\n", "")
	wantResult(t, f.run("verify", "harm"), cli.ExitDamaged, "harm-0001  1 problem: ", "sessctl: verify: 1 problem in 1 place\n")
	wantResult(t, f.run("verify", "--repair", "harm"), 0, "harm-0001  repaired: 0 records, 0 entries, 0 blobs\n  2 records were stored again after the log had lost them\n  repaired: blob sha256:12\n", "")
	got := f.run("verify", "--all", "-o", "json")
	wantResult(t, got, cli.ExitDamaged, `"problems":[]}`, `"code":"corrupt"`)
	if n := strings.Count(got.out, "\n"); n != 4 {
		t.Errorf("%d reports, want three of sessions and the log's", n)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := api.Status{Node: "n1", Version: "v1", Log: "main", Healthy: true, Summary: "all is well", Uptime: 90, Sessions: 1, Blobs: "/data/blobs"}
	for i := range 40 {
		s.Shards = append(s.Shards, api.ShardStatus{Stream: fmt.Sprintf("SESS_main_%02d", i), Replicas: 3, Bytes: 2048})
	}
	f.Mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) })
	got := f.run("status")
	wantResult(t, got, 0, "state  all is well\nnode   n1, version v1, up 1m30s\n", "")
	if n := strings.Count(got.out, "\n"); n > 24 {
		t.Errorf("%d lines do not fit a screen", n)
	}
	s.Healthy, s.Summary = false, "no quorum"
	wantResult(t, f.run("status"), cli.ExitUnavailable, "no quorum", "the node is not healthy: no quorum")
}

func TestBlobsGetVerifiesDigest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d := core.DigestOf([]byte("good"))
	body := "good"
	f.Mux.HandleFunc("GET /v1/blobs/{digest}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	wantResult(t, f.run("blobs", "get", strings.TrimPrefix(d.String(), "sha256:")), 0, "good", "")
	dir := t.TempDir()
	body = "bad"
	wantResult(t, f.run("blobs", "get", d.String(), "--out", filepath.Join(dir, "b")), cli.ExitDamaged, "", "the node sent sha256:")
	testkit.WantFiles(t, dir, nil)
}

func TestBranchAndForkAndNew(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var at string
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/branch", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		at = r.Header.Get(api.HeaderHead) + " " + string(b)
		_ = json.NewEncoder(w).Encode(core.Receipt{Cursor: core.Cursor{Seq: 9}})
	})
	made := func(w http.ResponseWriter, r *http.Request) {
		var q struct{ ID, At, CWD string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		_ = json.NewEncoder(w).Encode(api.Created{ID: core.SessionID(q.ID), Cursor: core.Cursor{Seq: 1}})
	}
	f.Mux.HandleFunc("POST /v1/sessions", made)
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/fork", made)
	wantResult(t, f.run("move-head", testID, "--at", "e1", "--head", "side", "-o", "json"), 0, `{"session":"`+testID+`","head":"side","leaf":"e1","seq":"9-0000000000000000","cursor":"9-0000000000000000"}`, "")
	wantResult(t, f.run("move-head", testID, "--at", "null", "-o", "json"), 0, `"leaf":null`, "")
	if at != `main {"at":{"none":true}}` {
		t.Errorf("sent %s", at)
	}
	wantResult(t, f.run("fork", testID, "--at", "e1", "--id", "forked-01"), 0, "forked-01\n", "")
	wantResult(t, f.run("new", "-o", "json", "--id", "made-0001"), 0, `{"id":"made-0001","seq":"1-0000000000000000","cursor":"1-0000000000000000"}`, "")
	if id := strings.TrimSpace(f.run("new").out); len(id) != 36 {
		t.Errorf("%q is no new id", id)
	}
}
