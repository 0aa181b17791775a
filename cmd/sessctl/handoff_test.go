package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestResumeAsHandsTheSessionToAnotherAgent(t *testing.T) {
	t.Parallel()
	f, claims := resumable(t, talk("a"))
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/export", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("as") != "pi" || r.URL.Query().Get("head") != "main" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		w.Header().Set(api.HeaderCursor, "4-0000000000000000")
		w.Header().Set(api.HeaderLost, `[{"what":"thoughts","count":2}]`)
		_, _ = io.WriteString(w, "converted")
	})
	f.Mux.HandleFunc("POST /v1/import", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		q := r.URL.Query()
		if string(body) != "converted" || q.Get("dialect") != "pi" || q.Get("parent") != testID || q.Get("kind") != "convert" {
			t.Errorf("imports %q with %s", body, r.URL.RawQuery)
		}
		_ = json.NewEncoder(w).Encode(api.Imported{Session: testID})
	})
	dir := t.TempDir()
	wantResult(t, f.run("resume", testID, "--as", "pi", "--dir", dir, "--take-over"), 0, filepath.Join(dir, talkFile), "lost in the format of pi: 2 × thoughts")
	if claims.Load() != 1 {
		t.Errorf("%d claims", claims.Load())
	}
	testkit.WantFiles(t, dir, map[string]string{talkFile: talk("a")})
	wantResult(t, f.run("resume", testID, "--as", "pi", "--dry-run"), 2, "", "--as and --dry-run exclude each other")
}
