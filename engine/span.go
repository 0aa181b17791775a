package engine

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/internal/spans"
)

// span starts a span about s. The caller calls end with a pointer to its error.
func (s *Session) span(ctx context.Context, name string, attrs ...attribute.KeyValue) (_ context.Context, end func(*error)) {
	ctx, span := s.ss.cfg.Tracer.Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(append(attrs, spans.Session(s.id))...)
	}
	return ctx, func(err *error) { spans.End(span, *err) }
}

// batchSpan starts the span of a batch's record, in the trace of the first request.
// It links the others.
func (s *Session) batchSpan(ctx context.Context, batch []*request) (context.Context, trace.Span) {
	var links []trace.Link
	for _, q := range batch[1:] {
		if q.span.IsValid() {
			links = append(links, trace.Link{SpanContext: q.span})
		}
	}
	ctx = trace.ContextWithSpanContext(ctx, batch[0].span)
	return s.ss.cfg.Tracer.Start(ctx, "record", trace.WithLinks(links...),
		trace.WithAttributes(spans.Session(s.id), attribute.Int("sess.requests", len(batch))))
}
