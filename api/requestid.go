package api

import (
	"log/slog"
	"net/http"
	"regexp"

	"github.com/oklog/ulid/v2"
)

// HeaderRequest names a request, in its answer, in a problem, and in the node's
// log.
const HeaderRequest = "X-Request-Id"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// identified gives each request the name that its caller gave it, or one of its
// own where that is none.
func identified(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(HeaderRequest)
		if !requestID.MatchString(id) {
			id = ulid.Make().String()
		}
		w.Header().Set(HeaderRequest, id)
		h.ServeHTTP(w, r)
	})
}

// logger logs about the request that w answers.
func (s *Server) logger(w http.ResponseWriter) *slog.Logger {
	return s.cfg.Logger.With("request", w.Header().Get(HeaderRequest))
}
