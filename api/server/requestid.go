package server

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/oklog/ulid/v2"
)

// HeaderRequest names a request, in its answer, in a problem, in the node's log,
// and in what others log of the same request.
const HeaderRequest = "X-Request-Id"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

type requestKey struct{}

// RequestID is the id of the request that ctx is of, "" for none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// identified gives each request the name that its caller gave it, or one of its
// own where that is none.
func identified(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(HeaderRequest)
		if !requestID.MatchString(id) {
			id = ulid.Make().String()
		}
		w.Header().Set(HeaderRequest, id)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
	})
}

// logger logs about the request that w answers.
func (s *Server) logger(w http.ResponseWriter) *slog.Logger {
	return s.cfg.Logger.With("request", w.Header().Get(HeaderRequest))
}
