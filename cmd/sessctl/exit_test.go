package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

func TestErrorsBecomeExitCodes(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, c := range []struct {
		name string
		err  error
		exit int
		code string
	}{
		{"any", errors.New("odd"), 1, "error"},
		{"usage", usagef("wrong"), 2, "usage"},
		{"hint", hintf(core.ErrNotFound, "do this"), 3, "not-found"},
		{"no file", noFile("x", os.ErrNotExist), 3, "not-found"},
		{"invalid", core.ErrInvalid, 4, "invalid"},
		{"too large", core.ErrTooLarge, 4, "too-large"},
		{"line", &core.LineError{Line: 3, Err: core.ErrInvalid}, 4, "invalid"},
		{"conflict", core.ErrConflict, 5, "conflict"},
		{"exists", core.ErrExists, 5, "exists"},
		{"line conflict", &core.LineError{Line: 3, Err: core.ErrConflict}, 5, "conflict"},
		{"file exists", os.ErrExist, 5, "exists"},
		{"fenced", &core.FencedError{}, 6, "fenced"},
		{"unavailable", core.ErrUnavailable, 7, "unavailable"},
		{"uncertain", core.ErrUncertain, 7, "uncertain"},
		{"full", core.ErrFull, 7, "full"},
		{"refused", fmt.Errorf("%w: %w", refused, core.ErrUnavailable), 7, "unavailable"},
		{"too late", context.DeadlineExceeded, 7, "unavailable"},
		{"too late to know", fmt.Errorf("%w: %w", context.DeadlineExceeded, core.ErrUncertain), 7, "uncertain"},
		{"corrupt", core.ErrCorrupt, 8, "corrupt"},
		{"lost", core.ErrLost, 8, "lost"},
		{"deleted", core.ErrDeleted, 9, "deleted"},
		{"too new", core.ErrTooNew, 1, "too-new"},
		{"interrupted", context.Canceled, 130, "interrupted"},
		{"interrupted in a write", fmt.Errorf("%w: %w", context.Canceled, core.ErrUncertain), 7, "uncertain"},
		{"token", &client.Error{Detail: api.Detail{Code: "unauthorized", Status: 401}}, 1, "unauthorized"},
		{"node", &client.Error{Detail: api.Detail{Code: "deleted", Status: 410}}, 9, "deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := describe(c.err, "http://node")
			if got.Exit != c.exit || got.Code != c.code {
				t.Errorf("got exit %d, code %q, want %d, %q", got.Exit, got.Code, c.exit, c.code)
			}
			if strings.ContainsAny(got.Detail, "\n") {
				t.Errorf("%q is not one line", got.Detail)
			}
		})
	}
}

// What a node answers reaches the user with its line, its holder and a command
// to go on with.
func TestProblemsAreTold(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.has([]string{testID})
	f.refuses("POST /v1/import", api.Detail{Status: 409, Code: "conflict", Detail: "line 7 (entry \"e\"): this id is there already", Next: "Read the session and decide anew.", Line: 7, Entry: "e"})
	f.refuses("GET /v1/sessions/{id}/context", api.Detail{Status: 404, Code: "not-found", Detail: "entry \"zz\": not found", Next: "GET /v1/sessions"})
	f.refuses("GET /v1/sessions/{id}/tree", api.Detail{Status: 500, Code: "corrupt", Detail: "a \x1b[31mred\n thing"})
	f.mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>a proxy</html>"))
	})
	f.stdin = "x"
	wantResult(t, f.run("import", "-"), 5, "", "sessctl: import: standard input: line 7 (entry \"e\"): this id is there already\nnext: Read the session and decide anew.\n")
	wantResult(t, f.run("import", "-", "-o", "json"), 5, "", `"line":7,"entry":"e","exit":5}`)
	wantResult(t, f.run("context", testID, "--leaf", "zz"), 3, "", "sessctl: context: entry \"zz\": not found\nnext: see what there is with: sessctl ls, or in a session with: sessctl tree SESSION\n")
	wantResult(t, f.run("tree", testID), 8, "", "sessctl: tree: a ␛[31mred thing\n")
	wantResult(t, f.run("status"), 7, "", "502 Bad Gateway")
}

func TestASlowNode(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.mux.HandleFunc("GET /v1/status", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	wantResult(t, f.run("status", "--timeout", "50ms"), 7, "", "no answer in time from "+f.url)
}
