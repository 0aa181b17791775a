package stream

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// hdrTrace is the trace that a record was stored in, as W3C writes it, where
// somebody keeps that trace. It is outside of the chain and decides nothing. It
// has a name of its own: the server takes "traceparent" for an order to trace the
// message itself.
const hdrTrace = "Sess-Trace"

// storing begins the span of one record on its way into the log.
func (l *Log) storing(ctx context.Context, id core.SessionID, r *core.Record) (context.Context, trace.Span) {
	ctx, span := l.cfg.Tracer.Start(ctx, "log append", trace.WithSpanKind(trace.SpanKindProducer))
	if span.IsRecording() {
		span.SetAttributes(
			spans.Session(id), attribute.String("sess.kind", string(r.Kind)), attribute.String("sess.cursor", core.CursorOf(r.Seq, r.Chain).String()),
			attribute.Int("sess.shard", l.Shard(id)), attribute.Int("sess.bytes", len(r.Body)),
		)
	}
	return ctx, span
}
