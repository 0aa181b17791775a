package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func TestConflictFlagsAreValidated(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.stdin = "{}"
	for want, args := range map[int][]string{
		cli.ExitInvalid: {"append", testID, "--on-conflict", "merge"},
		cli.ExitUsage:   {"append", testID, "--head-name", "side"},
	} {
		if got := f.run(args...); got.code != want || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := f.run("name", testID, "N", "--on-conflict", "branch", "--head-name", "a b"); got.code != cli.ExitInvalid {
		t.Errorf("%+v", got)
	}
}

// What could not be stored comes out as it went in, unless it never could be.
func TestAppendReturnsUnsentLines(t *testing.T) {
	t.Parallel()
	for code, back := range map[string]bool{
		"conflict": true, "fenced": true, "unavailable": true, "uncertain": true, "full": true, "deleted": true,
		"invalid": false, "too-large": false, "not-found": false,
	} {
		f := newFake(t)
		f.Has([]string{testID})
		f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(api.Detail{
				Status: 409, Code: code, Detail: "it cannot be", Head: "main", Cursor: &core.Cursor{Seq: 9},
				Since: []core.Change{{Kind: core.KindAppend, Writer: "w0", Entries: []string{"e9"}}}, More: 3,
			})
		})
		f.stdin = " {\"n\":1.0}\r\n\n{\"n\": 2}"
		want, timeout := "", "1m" // these refusals are not retried
		if back {
			want, timeout = f.stdin, "300ms"
		}
		got := f.run("append", testID, "-o", "json", "--timeout", timeout)
		if got.out != want || got.code == 0 {
			t.Errorf("%s: exit code %d, on standard output %q, want %q", code, got.code, got.out, want)
		}
		if code != "uncertain" && !strings.Contains(got.err, `"since":[{`) {
			t.Errorf("%s: %s", code, got.err)
		}
		path := filepath.Join(t.TempDir(), "unsent")
		if got := f.run("append", testID, "--unsent", path, "--timeout", timeout); got.out != "" {
			t.Errorf("%s: on standard output, too: %q", code, got.out)
		}
		if b, _ := os.ReadFile(path); string(b) != want {
			t.Errorf("%s: in the file %q, want %q", code, b, want)
		}
	}
}

// If no node answers, nothing is lost that came through a pipe.
func TestAppendReturnsLinesIfNoNodeAnswers(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.URL = "http://127.0.0.1:1"
	f.stdin = "{\"n\":1}\n{\"n\":2}\n"
	got := f.run("append", testID, "--timeout", "300ms")
	if got.code != cli.ExitUnavailable || got.out != f.stdin || !strings.Contains(got.err, "nothing was stored; the lines are on standard output") {
		t.Errorf("%+v", got)
	}
	path := filepath.Join(t.TempDir(), "unsent")
	got = f.run("append", testID, "--timeout", "300ms", "--unsent", path)
	b, err := os.ReadFile(path)
	if err != nil || string(b) != f.stdin || got.out != "" || !strings.Contains(got.err, "nothing was stored; the lines are in "+path) {
		t.Errorf("%+v, in the file %q: %v", got, b, err)
	}
}

func TestAppendReportsBranchHead(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	var query string
	f.Mux.HandleFunc("POST /v1/sessions/"+testID+"/entries", func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		_ = json.NewEncoder(w).Encode(core.Receipt{IDs: []string{"x"}, Stored: 1, Head: "side"})
	})
	f.stdin = "{}"
	got := f.run("append", testID, "--on-conflict", "branch", "--head-name", "side")
	wantResult(t, got, 0, "1 line stored, on the head side, at ", "continue there with: --head side")
	if query != "branch=side&onConflict=branch" {
		t.Errorf("asked for %q", query)
	}
	wantResult(t, f.run("append", testID, "-o", "json"), 0, `"head":"side","cursor":"0"}`, "")
}
