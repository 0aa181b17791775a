package main

import (
	"net/http"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestReadsSendConsistencyFlags(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	asked := ""
	f.Mux.HandleFunc("GET /v1/sessions/"+testID+"/{what}", func(w http.ResponseWriter, r *http.Request) {
		asked = r.PathValue("what") + "?" + r.URL.RawQuery
		_, _ = w.Write([]byte("{}\n"))
	})
	for verb, want := range map[string]string{"model-input": "context", "entries": "entries", "export": "export"} {
		wantResult(t, f.run(verb, testID, "-o", "json", "--strict", "--seen", "3-0000000000000000"), 0, "{}", "")
		if asked != want+"?seen=3-0000000000000000&strict=true" {
			t.Errorf("%s asked for %s", verb, asked)
		}
	}
	wantResult(t, f.run("entries", testID), 0, "{}", "")
	if asked != "entries?" {
		t.Errorf("without demands entries asked for %s", asked)
	}
	wantResult(t, f.run("info", testID, "--seen", "x"), cli.ExitUsage, "", "not a cursor")
	f.stdin = `{"type":"session","version":3,"id":"a-session","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w"}`
	wantResult(t, f.run("info", "-", "--strict"), cli.ExitUsage, "", "require a session in the log")

	f.Refuses("GET /v1/sessions/"+testID, api.Detail{Code: "unavailable", Status: 503, Detail: "no quorum"})
	wantResult(t, f.run("info", testID, "--strict"), cli.ExitUnavailable, "", "no quorum")
}
