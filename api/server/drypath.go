package server

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A header alone would be ignored by a node that does not know it, and the call
// carried out. So the client asks for a dry run by a path of its own, which such a
// node does not have.

// dryByPath has a call below DryRunPrefix be a dry run of the call that it names.
func dryByPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, api.DryRunPrefix) {
			h.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Path = strings.Replace(r.URL.Path, api.DryRunPrefix, api.Prefix, 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, api.DryRunPrefix, api.Prefix, 1)
		r.Header.Set(api.HeaderDryRun, "true")
		if p := r.URL.EscapedPath(); path.Clean(p) != p {
			// The mux would send the caller to the clean path, and not below DryRunPrefix.
			writeProblem(w, fmt.Errorf("there is no %.200q: %w", p, core.ErrNotFound))
			return
		}
		h.ServeHTTP(w, r)
	})
}
