package server

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// traced begins the span of a request, in its caller's trace where it names one
// (traceparent). end is called with the status that it was answered with, 0 where
// the answer broke off.
func (s *Server) traced(r *http.Request) (_ *http.Request, end func(status int)) {
	if s.cfg.Tracer == nil || (Seen{Route: r.Pattern}).IsFollower() { // which goes on for as long as its caller wants
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
