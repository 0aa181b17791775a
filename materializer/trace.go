package materializer

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/stream"
)

// takeTraced calls take with a span, if the record is part of a recorded trace. The
// snapshot that it or a later record causes continues that trace.
func (m *Materializer) takeTraced(ctx context.Context, shard int, ch stream.Change) (err error) {
	if ch.Trace == "" {
		return m.take(ctx, shard, ch)
	}
	ctx, span := m.cfg.Tracer.Start(spans.With(ctx, ch.Trace), "take in", trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		spans.Session(ch.Session), attribute.String("sess.kind", string(ch.Kind)), attribute.String("sess.cursor", core.CursorOf(ch.Seq, ch.Chain).String()),
	))
	defer func() { spans.End(span, err) }()
	return m.take(ctx, shard, ch)
}

// keep is Snapshots.Keep with a span.
func (m *Materializer) keep(ctx context.Context, d *engine.Draft) (err error) {
	ctx, span := m.cfg.Tracer.Start(ctx, "snapshot", trace.WithAttributes(attribute.String("sess.object", d.Manifest.Object)))
	defer func() { spans.End(span, err) }()
	return m.cfg.Snapshots.Keep(ctx, d)
}
