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

// Nowhere is a tracer whose spans go nowhere.
func Nowhere() trace.Tracer { return noop.NewTracerProvider().Tracer("") }

// Or returns t, or Nowhere where t is nil.
func Or(t trace.Tracer) trace.Tracer {
	if t == nil {
		return Nowhere()
	}
	return t
}

// Session says which session a span is about. In traces, other than in metrics,
// ids may stand.
func Session(id core.SessionID) attribute.KeyValue {
	return attribute.String("sess.session", string(id))
}

// maxText bounds what a span says of an error.
const maxText = 300

// End ends a span that err came of, nil for none.
func End(span trace.Span, err error) {
	if err != nil {
		text := err.Error()
		span.SetStatus(codes.Error, text[:min(len(text), maxText)])
	}
	span.End()
}

// header is the name that propagation gives a trace.
const header = "traceparent"

// Text is the trace that ctx is of, as W3C writes it; "" where nobody keeps it.
func Text(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	m := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, m)
	return m[header]
}

// With returns ctx as part of the trace that text names. Text that names none
// changes nothing.
func With(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: text})
}
