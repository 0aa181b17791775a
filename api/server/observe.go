package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// A Seen is a request that was answered.
type Answered struct {
	Route  string        // the pattern that it was answered by, such as "GET /v1/sessions/{id}"; "" for none
	Status int           // 0 where the answer broke off
	Took   time.Duration // until the answer was whole
}

// IsFollower reports whether the request was to go on for as long as its caller
// wants, so that the time it took says nothing.
func (s Answered) IsFollower() bool {
	return strings.HasSuffix(s.Route, "/events") || strings.HasSuffix(s.Route, "/changes")
}

// A statusRecorder is a response that remembers how it began.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusRecorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// unwrapped is the server's own response, which http.MaxBytesReader asks to close
// the connection.
func unwrapResponse(w http.ResponseWriter) http.ResponseWriter {
	if seen, ok := w.(*statusRecorder); ok {
		return seen.ResponseWriter
	}
	return w
}

// told is what a line of the log says of a request: which it is, and of which
// session.
func requestAttrs(r *http.Request) []any {
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
		seen, began := &statusRecorder{ResponseWriter: w}, time.Now()
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
				s.cfg.Observe(Answered{Route: r.Pattern, Status: seen.status, Took: took})
			}
			if s.cfg.Logger.Enabled(r.Context(), slog.LevelDebug) {
				s.cfg.Logger.Debug("request", append(requestAttrs(r), "status", seen.status, "took", took.Round(time.Microsecond))...)
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

// Ready says why this node cannot serve now, or nil, within readyTimeout.
func (s *Server) Ready(ctx context.Context) error { return s.ready(ctx) }

// logAccess logs who asked for what, and how it went: "" for well, else the code
// of the problem. It knows the request's names and nothing of what was read or
// written. Queries are left out: people search for what sessions say.
func (s *Server) logAccess(r *http.Request, who caller, code string) {
	if !s.cfg.Access {
		return
	}
	args := []any{"request", RequestID(r.Context()), "who", cmp.Or(who.name, "nobody asked"), "call", r.Pattern, "from", r.RemoteAddr}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		args = append(args, "session", id)
	}
	s.cfg.Logger.Info("access", append(args, "outcome", cmp.Or(code, "ok"))...)
}

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
func withRequestID(h http.Handler) http.Handler {
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

// traced begins the span of a request, in its caller's trace where it names one
// (traceparent). end is called with the status that it was answered with, 0 where
// the answer broke off.
func (s *Server) traced(r *http.Request) (_ *http.Request, end func(status int)) {
	if s.cfg.Tracer == nil || (Answered{Route: r.Pattern}).IsFollower() { // which goes on for as long as its caller wants
		return r, func(int) {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	route := r.Pattern
	if route == "" {
		route = "none"
	}
	attrs := []attribute.KeyValue{
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route), attribute.String("sess.request", RequestID(r.Context())),
	}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		attrs = append(attrs, spans.Session(id))
	}
	ctx, span := s.cfg.Tracer.Start(ctx, route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status == 0 || status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}

// traceOf is the id of the trace that a request is of, "" where nobody keeps it.
func traceOf(r *http.Request) string {
	if c := trace.SpanContextFromContext(r.Context()); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}
