package main

import (
	"net/http"
	"testing"

	"github.com/sesslog/sesslog/api"
)

// The errors of a node are printed with their line, holder and hint.
func TestErrorsOfNodeArePrinted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{testID})
	f.Refuses("POST /v1/import", api.Detail{Status: 409, Code: "conflict", Detail: "line 7 (entry \"e\"): this id is there already", Next: "Read the session and decide anew.", Line: 7, Entry: "e"})
	f.Refuses("GET /v1/sessions/{id}/context", api.Detail{Status: 404, Code: "not-found", Detail: "entry \"zz\": not found", Next: "GET /v1/sessions"})
	f.Refuses("GET /v1/sessions/{id}/tree", api.Detail{Status: 500, Code: "corrupt", Detail: "a \x1b[31mred\n thing"})
	f.Mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>a proxy</html>"))
	})
	f.stdin = "x"
	wantResult(t, f.run("import", "-"), 5, "", "sessctl: import: standard input: line 7 (entry \"e\"): this id is there already\nhint: Read the session and decide anew.\n")
	wantResult(t, f.run("import", "-", "-o", "json"), 5, "", `"line":7,"entry":"e","exit":5}`)
	wantResult(t, f.run("model-input", testID, "--leaf", "zz"), 3, "", "sessctl: model-input: entry \"zz\": not found\nhint: list sessions with: sessctl ls, or entries with: sessctl tree SESSION\n")
	wantResult(t, f.run("tree", testID), 8, "", "sessctl: tree: a ␛[31mred thing\n")
	wantResult(t, f.run("status"), 7, "", "502 Bad Gateway")
}

// The name of an error ends no text that says as much, and only such a text.
func TestErrorsEndWithoutSentinel(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		`the log has other bytes under this id: conflict`: `the log has other bytes under this id`,
		`no session gone-0001 in log main: not found`:     `no session gone-0001 in log main`,
		`entry "no": not found`:                           `entry "no": not found`,
	} {
		f := newFake(t)
		f.Has([]string{testID})
		f.Refuses("GET /v1/sessions/{id}/tree", api.Detail{Status: 404, Code: "not-found", Detail: detail})
		wantResult(t, f.run("tree", testID), 3, "", "sessctl: tree: "+want+"\n")
	}
}

func TestTimeoutIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Mux.HandleFunc("GET /v1/status", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	wantResult(t, f.run("status", "--timeout", "50ms"), 7, "", "timeout: no response from "+f.URL)
}
