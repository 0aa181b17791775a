package api

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// A header alone would be ignored by a node that does not know it, and the call
// carried out. So the client asks for a dry run by a path of its own, which such a
// node does not have.

// apiPath is where the calls are, dryPath where the dry runs of the same calls are.
const (
	apiPath = "/v1/"
	dryPath = "/v1/dry-run/"
)

// dryByPath has a call below dryPath be a dry run of the call that it names.
func dryByPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, dryPath) {
			h.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path = strings.Replace(r.URL.Path, dryPath, apiPath, 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, dryPath, apiPath, 1)
		r.Header.Set(HeaderDryRun, "true")
		if p := r.URL.EscapedPath(); path.Clean(p) != p {
			// The mux would send the caller to the clean path, and not below dryPath.
			writeProblem(w, fmt.Errorf("there is no %.200q: %w", p, core.ErrNotFound))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// dryAnswer returns why r, the answer of the node at base to a dry run, is none.
func dryAnswer(base string, r *http.Response) error {
	if r.Header.Get(HeaderDryRun) == "true" {
		return nil
	}
	switch {
	case r.StatusCode < 300:
		return fmt.Errorf("the node at %s answers a dry run with %s, and does not say that it was one: see what was done: %w", base, r.Status, core.ErrInvalid)
	case r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("the node at %s is older and knows no dry runs; nothing was done, upgrade it first: %w", base, core.ErrInvalid)
	}
	return nil // it says itself why not
}
