// Package nodetest has an HTTP server that answers like a node, for tests of
// sessctl. It has no log: tests with real nodes are elsewhere.
package nodetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// A Node answers the requests that its Mux has handlers for.
type Node struct {
	Mux *http.ServeMux
	URL string
}

// New starts a node that is stopped at the end of the test.
func New(t *testing.T) *Node {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return &Node{Mux: mux, URL: srv.URL}
}

// Answers makes requests to pattern return v as JSON.
func (n *Node) Answers(pattern string, v any) {
	n.Mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(v)
	})
}

// Refuses makes requests to pattern fail with the problem d.
func (n *Node) Refuses(pattern string, d api.Detail) {
	n.Mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(d.Status)
		_ = json.NewEncoder(w).Encode(d)
	})
}

// Has lists sessions, and those of trash as deleted.
func (n *Node) Has(sessions []string, trash ...string) {
	n.Mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		ids := sessions
		if r.URL.Query().Get("deleted") == "true" {
			ids = trash
		}
		list := api.List{Sessions: []catalog.Row{}}
		for _, id := range ids {
			if strings.HasPrefix(id, r.URL.Query().Get("prefix")) {
				list.Sessions = append(list.Sessions, catalog.Row{ID: core.SessionID(id)})
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
}
