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
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// An Answered is a request that was answered.
type Answered struct {
	Route  string        // the pattern that it was answered by, such as "GET /v1/sessions/{id}"; "" for none
	Status int           // 0 if the answer was aborted
	Took   time.Duration // until the answer was complete
}

// IsFollower reports whether the request streams events until its caller ends it,
// so that its duration says nothing.
func (s Answered) IsFollower() bool {
	return strings.HasSuffix(s.Route, "/events") || strings.HasSuffix(s.Route, "/changes") || strings.HasPrefix(s.Route, "GET "+durablestreams.Prefix)
}

// A statusRecorder remembers the status of a response.
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

// unwrapResponse returns the server's own response, which http.MaxBytesReader
// needs to close the connection.
func unwrapResponse(w http.ResponseWriter) http.ResponseWriter {
	if seen, ok := w.(*statusRecorder); ok {
		return seen.ResponseWriter
	}
	return w
}

// requestAttrs returns the attributes that log lines about a request have.
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

// observed answers with h, calls Config.Observe, and logs the request.
func (s *Server) observed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, began := &statusRecorder{ResponseWriter: w}, time.Now()
		whole := false
		r, end := s.traced(r)
		defer func() {
			if !whole {
				seen.status = 0
			} else if seen.status == 0 {
				seen.status = http.StatusOK // the server's answer if the handler writes nothing
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

// Bounds returns the node's limits and their use, for metrics.
func (s *Server) Bounds() map[string]api.Bound { return s.bounds() }

// Ready returns why this node cannot serve now, or nil, within 3 seconds.
func (s *Server) Ready(ctx context.Context) error { return s.ready(ctx) }

// logAccess logs the caller, the call and its outcome: "" for success, else the
// problem's code. Queries are left out because people search for what sessions
// say.
func (s *Server) logAccess(r *http.Request, who caller, code string) {
	if !s.cfg.Access {
		return
	}
	args := []any{"request", RequestID(r.Context()), "who", cmp.Or(who.name, "-"), "call", r.Pattern, "from", r.RemoteAddr}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		args = append(args, "session", id)
	}
	s.cfg.Logger.Info("access", append(args, "outcome", cmp.Or(code, "ok"))...)
}

// HeaderRequest is the header with the id of a request. Problems and the node's
// log have the same id.
const HeaderRequest = "X-Request-Id"

var requestID = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

type requestKey struct{}

// RequestID returns the id of the request of ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// withRequestID gives each request the id that its caller sent, or a new one.
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

// logger returns a logger for the request that w answers.
func (s *Server) logger(w http.ResponseWriter) *slog.Logger {
	return s.cfg.Logger.With("request", w.Header().Get(HeaderRequest))
}

// traced starts the span of a request, in its caller's trace if it names one
// (traceparent). end is called with the status of the answer, 0 if the answer was
// aborted.
func (s *Server) traced(r *http.Request) (_ *http.Request, end func(status int)) {
	if s.cfg.Tracer == nil || (Answered{Route: r.Pattern}).IsFollower() { // a span would last for days
		return r, func(int) {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	route := r.Pattern
	if route == "" {
		route = "none"
	}
	ctx, span := s.cfg.Tracer.Start(ctx, route, trace.WithSpanKind(trace.SpanKindServer))
	switch {
	case span.IsRecording():
		span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route), attribute.String("sess.request", RequestID(ctx)))
		if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
			span.SetAttributes(spans.Session(id))
		}
	case !span.SpanContext().IsValid(): // neither the node nor the caller traces
		return r, func(int) {}
	}
	return r.WithContext(ctx), func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status == 0 || status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}

// traceOf returns the id of the request's trace, "" if the trace is not recorded.
func traceOf(r *http.Request) string {
	if c := trace.SpanContextFromContext(r.Context()); c.IsSampled() {
		return c.TraceID().String()
	}
	return ""
}
