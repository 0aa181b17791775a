package engine

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// Observer is told the results of writes, for metrics. Its functions must not block
// and may be called concurrently. A nil function is not called.
type Observer struct {
	// Appended is called after each Append. stored is how many of its lines are new.
	Appended func(took time.Duration, stored int, err error)
	// Claimed is called after each Claim. former is the claim that it ended, or nil.
	Claimed func(former *core.Claim, err error)
	// LostRace is called each time another record came first and a record of this process
	// is built again, even if its caller succeeds.
	LostRace func()
}

func (o Observer) appended(began time.Time, rec *core.Receipt, err *error) {
	if o.Appended != nil {
		o.Appended(time.Since(began), rec.Stored, *err)
	}
}

func (o Observer) claimed(former **core.Claim, err *error) {
	if o.Claimed != nil {
		o.Claimed(*former, *err)
	}
}

func (o Observer) lostRace() {
	if o.LostRace != nil {
		o.LostRace()
	}
}

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
	var links []trace.SpanStartOption
	for _, q := range batch[1:] {
		if q.span.IsValid() {
			links = append(links, trace.WithLinks(trace.Link{SpanContext: q.span}))
		}
	}
	if batch[0].span.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, batch[0].span)
	}
	ctx, span := s.ss.cfg.Tracer.Start(ctx, "record", links...)
	if span.IsRecording() {
		span.SetAttributes(spans.Session(s.id), attribute.Int("sess.requests", len(batch)))
	}
	return ctx, span
}
