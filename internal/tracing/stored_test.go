package tracing

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/internal/spans"
)

// No span of a large session is dropped, and the first error ends the sending.
func TestSendReportsEverySpan(t *testing.T) {
	var calls, fails atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1); fails.Load() == 1 {
			http.Error(w, "no", http.StatusForbidden)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off") // is for nodes
	const n = 3*maxBatch + 1
	ids := map[trace.SpanID]bool{}
	many := func(ctx context.Context, tracer trace.Tracer) {
		for range n {
			_, span := tracer.Start(spans.WithSeed(ctx, "a"), "x")
			span.End()
			ids[span.SpanContext().SpanID()] = true
		}
	}
	if sent, err := Send(t.Context(), os.Getenv, many); sent != n || err != nil {
		t.Errorf("sent %d of %d, %v", sent, n, err)
	}
	if calls.Load() != 4 || len(ids) != 1 { // the first span of one trace, n times
		t.Errorf("%d requests, %d ids", calls.Load(), len(ids))
	}
	fails.Store(1)
	calls.Store(0)
	if sent, err := Send(t.Context(), os.Getenv, many); sent != 0 || err == nil || calls.Load() != 1 {
		t.Errorf("sent %d, %v, %d requests", sent, err, calls.Load())
	}
}

func TestSendNeedsCollector(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	if _, err := Send(t.Context(), none, func(context.Context, trace.Tracer) { t.Error("emits") }); !errors.Is(err, ErrDisabled) {
		t.Errorf("%v", err)
	}
}
