package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// A Seen is a request that was answered.
type Seen struct {
	Route  string        // the pattern that it was answered by, such as "GET /v1/sessions/{id}"; "" for none
	Status int           // 0 where the answer broke off
	Took   time.Duration // until the answer was whole
}

// IsFollower reports whether the request was to go on for as long as its caller
// wants, so that the time it took says nothing.
func (s Seen) IsFollower() bool {
	return strings.HasSuffix(s.Route, "/events") || strings.HasSuffix(s.Route, "/changes")
}

// A witness is a response that remembers how it began.
type witness struct {
	http.ResponseWriter
	status int
}

func (w *witness) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *witness) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *witness) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// unwrapped is the server's own response, which http.MaxBytesReader asks to close
// the connection.
func unwrapped(w http.ResponseWriter) http.ResponseWriter {
	if seen, ok := w.(*witness); ok {
		return seen.ResponseWriter
	}
	return w
}

// told is what a line of the log says of a request: which it is, and of which
// session.
func told(r *http.Request) []any {
	args := []any{"request", RequestID(r.Context()), "method", r.Method, "path", clip(r.URL.Path, 200)}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		args = append(args, "session", id)
	}
	if id := traceOf(r); id != "" {
		args = append(args, "trace", id)
	}
	return args
}

// observed answers with h, tells Config.Observe of it, and logs it.
func (s *Server) observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, began := &witness{ResponseWriter: w}, time.Now()
		whole := false
		r, end := s.traced(r)
		defer func() {
			if !whole {
				seen.status = 0
			} else if seen.status == 0 {
				seen.status = http.StatusOK // the server's own answer where nothing was written
			}
			end(seen.status)
			took := time.Since(began)
			if s.cfg.Observe != nil {
				s.cfg.Observe(Seen{Route: r.Pattern, Status: seen.status, Took: took})
			}
			if s.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
				s.cfg.Logger.Debug("request", append(told(r), "status", seen.status, "took", took.Round(time.Microsecond))...)
			}
		}()
		h.ServeHTTP(seen, r)
		whole = true
	})
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	s.cfg.Metrics.ServeHTTP(w, r)
	return nil
}

// Bounds are what this node can have in hand at once, by what it is, for who
// counts it.
func (s *Server) Bounds() map[string]api.Bound { return s.bounds() }

// Ready says why this node cannot serve now, or nil, within readyWait.
func (s *Server) Ready(ctx context.Context) error { return s.ready(ctx) }
