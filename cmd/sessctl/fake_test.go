package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A fakeNode answers as a test says. It stands in for the wire alone: what a
// node really does is tested with real nodes elsewhere.
type fakeNode struct {
	t     *testing.T
	mux   *http.ServeMux
	url   string
	home  string
	stdin string
	// What testID is, where that changes: the agent's file, and what the node says.
	file, info atomic.Value // strings
}

func newFake(t *testing.T) *fakeNode {
	t.Helper()
	f := &fakeNode{t: t, mux: http.NewServeMux(), home: t.TempDir()}
	srv := httptest.NewServer(f.mux)
	t.Cleanup(srv.Close)
	f.url = srv.URL
	return f
}

// answers has requests to pattern answered with v as JSON.
func (f *fakeNode) answers(pattern string, v any) {
	f.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(v)
	})
}

// refuses has requests to pattern answered with a problem.
func (f *fakeNode) refuses(pattern string, d api.Detail) {
	f.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(d.Status)
		_ = json.NewEncoder(w).Encode(d)
	})
}

// has lists sessions, and those of trash as deleted.
func (f *fakeNode) has(sessions []string, trash ...string) {
	f.mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		ids := sessions
		if r.URL.Query().Get("deleted") == "true" {
			ids = trash
		}
		list := api.List{Sessions: []api.Row{}}
		for _, id := range ids {
			if strings.HasPrefix(id, r.URL.Query().Get("prefix")) {
				list.Sessions = append(list.Sessions, api.Row{ID: core.SessionID(id)})
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}

// A result is what a run of the program came to.
type result struct {
	code     int
	out, err string
}

func (f *fakeNode) run(args ...string) result {
	f.t.Helper()
	return f.runWith(nil, args...)
}

func (f *fakeNode) runWith(env map[string]string, args ...string) result {
	f.t.Helper()
	vars := map[string]string{"SESS_URL": f.url, "HOME": f.home, "USER": "tester"}
	for k, v := range env {
		vars[k] = v
	}
	var out, errs bytes.Buffer
	code := run(f.t.Context(), args, func(k string) string { return vars[k] }, strings.NewReader(f.stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// app is an app on its own, for what needs no command line.
func testApp(env map[string]string) *app {
	return newApp(func(k string) string { return env[k] }, strings.NewReader(""), io.Discard, io.Discard)
}

const testID = "01aaaaaaaaaaaaaaaaaaaaaaaa"

func wantResult(t *testing.T, got result, code int, out, errs string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d", got.code, code)
	}
	if !strings.Contains(got.out, out) {
		t.Errorf("stdout lacks %q:\n%s", out, got.out)
	}
	if !strings.Contains(got.err, errs) || errs == "" && got.err != "" {
		t.Errorf("stderr lacks %q:\n%s", errs, got.err)
	}
}
