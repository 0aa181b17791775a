package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/internal/spans"
)

// ErrDisabled is returned if the environment names no collector.
var ErrDisabled = errors.New("the environment names no collector")

// Send creates the spans that emit starts and ends, at times that it gives, and sends all
// of them to the collector of the environment. Their ids are derived from the seeds of
// their traces; see spans.WithSeed. It returns how many spans the collector took. Returns
// ErrDisabled without a collector.
func Send(ctx context.Context, env func(string) string, emit func(context.Context, trace.Tracer)) (int, error) {
	if !enabled(env) {
		return 0, ErrDisabled
	}
	exporter, err := newExporter(ctx, env)
	if err != nil {
		return 0, err
	}
	where, err := newResource(ctx, attribute.String("service.name", "sessctl"))
	if err != nil {
		return 0, err
	}
	out := &batches{exporter: exporter}
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(out), sdk.WithResource(where), sdk.WithIDGenerator(&derived{}),
		sdk.WithSampler(sdk.AlwaysSample()))
	emit(ctx, provider.Tracer(name))
	out.flush(ctx)
	return out.sent, errors.Join(out.err, provider.Shutdown(ctx))
}

// maxBatch is how many spans a request has.
const maxBatch = 512

// batches is the span processor that sends spans in order and keeps the first error. A
// batcher of the SDK would drop spans and report no error.
type batches struct {
	exporter sdk.SpanExporter
	spans    []sdk.ReadOnlySpan
	sent     int
	err      error
}

func (b *batches) OnStart(context.Context, sdk.ReadWriteSpan) {}

func (b *batches) OnEnd(s sdk.ReadOnlySpan) {
	b.spans = append(b.spans, s)
	if len(b.spans) >= maxBatch {
		b.flush(context.Background()) // the exporter has a timeout
	}
}

func (b *batches) flush(ctx context.Context) {
	if b.err == nil && len(b.spans) > 0 {
		if b.err = b.exporter.ExportSpans(ctx, b.spans); b.err == nil {
			b.sent += len(b.spans)
		}
	}
	b.spans = nil
}

func (b *batches) Shutdown(ctx context.Context) error { return b.exporter.Shutdown(ctx) }

func (b *batches) ForceFlush(context.Context) error { return nil }

// derived derives the ids of spans. Spans are started by one goroutine.
type derived struct{ spans uint64 }

func (d *derived) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	sum := sha256.Sum256([]byte(spans.SeedOf(ctx)))
	id := trace.TraceID(sum[:16])
	d.spans = 0
	return id, d.NewSpanID(ctx, id)
}

func (d *derived) NewSpanID(_ context.Context, id trace.TraceID) trace.SpanID {
	d.spans++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(id[:], d.spans))
	return trace.SpanID(sum[:8])
}
