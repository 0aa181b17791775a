package spans

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/sesslog/sesslog/core"
)

// Nowhere returns a tracer that discards spans.
func Nowhere() trace.Tracer { return noop.NewTracerProvider().Tracer("") }

// Or returns t, or Nowhere if t is nil.
func Or(t trace.Tracer) trace.Tracer {
	if t == nil {
		return Nowhere()
	}
	return t
}

// Session returns the attribute with the session of a span. Unlike metrics, traces
// may contain ids.
func Session(id core.SessionID) attribute.KeyValue {
	return attribute.String("sess.session", string(id))
}

// maxText bounds the error text of a span, in bytes.
const maxText = 300

// End ends a span, with err as its status unless it is nil.
func End(span trace.Span, err error) {
	if err != nil {
		text := err.Error()
		span.SetStatus(codes.Error, text[:min(len(text), maxText)])
	}
	span.End()
}

// header is the W3C header of a trace.
const header = "traceparent"

// Text returns the trace of ctx in W3C notation, or "" if it is not sampled.
func Text(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	m := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, m)
	return m[header]
}

// With returns ctx as part of the trace in text. It returns ctx unchanged if text is
// empty or invalid.
func With(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: text})
}

type seedKey struct{}

// WithSeed returns ctx for the root of a trace whose ids are derived from seed: the same
// trace, sent again, has the same ids.
func WithSeed(ctx context.Context, seed string) context.Context {
	return context.WithValue(ctx, seedKey{}, seed)
}

// SeedOf returns the seed of ctx, empty if it has none.
func SeedOf(ctx context.Context) string {
	seed, _ := ctx.Value(seedKey{}).(string)
	return seed
}
