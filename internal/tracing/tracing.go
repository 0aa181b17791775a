package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/internal/spans"
)

// name is the instrumentation scope of the spans.
const name = "github.com/sesslog/sesslog"

// Node describes the node in every span.
type Node struct {
	Name, Version string
}

// A Sender creates spans and sends them.
type Sender struct {
	provider *sdk.TracerProvider // nil if tracing is disabled
}

// enabled reports whether the environment enables tracing.
func enabled(env func(string) string) bool {
	switch {
	case env("OTEL_SDK_DISABLED") == "true", env("OTEL_TRACES_EXPORTER") == "none":
		return false
	}
	return env("OTEL_TRACES_EXPORTER") == "otlp" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Start returns a Sender that is configured by the environment of this process, which
// env reads: OTEL_EXPORTER_OTLP_… is the collector, OTEL_TRACES_SAMPLER the sampling,
// OTEL_SERVICE_NAME (default "sessnode") and OTEL_RESOURCE_ATTRIBUTES describe the
// node. Tracing is disabled without OTEL_TRACES_EXPORTER=otlp or an endpoint. If the
// collector is unavailable, spans are dropped.
func Start(ctx context.Context, env func(string) string, n Node) (*Sender, error) {
	if !enabled(env) {
		return &Sender{}, nil
	}
	exporter, err := newExporter(ctx, env)
	if err != nil {
		return nil, err
	}
	where, err := newResource(ctx, attribute.String("service.name", "sessnode"), attribute.String("service.version", n.Version),
		attribute.String("service.instance.id", n.Name))
	if err != nil {
		return nil, err
	}
	return &Sender{sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(where))}, nil
}

// newExporter returns what sends spans to the collector of the environment.
func newExporter(ctx context.Context, env func(string) string) (*otlptrace.Exporter, error) {
	for _, key := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := env(key); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s is %.64q; only http/protobuf is supported", key, p)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	return exporter, nil
}

// newResource returns the description of the sender. The environment comes last, so it
// takes precedence.
func newResource(ctx context.Context, attrs ...attribute.KeyValue) (*resource.Resource, error) {
	where, err := resource.New(ctx, resource.WithAttributes(attrs...), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return where, nil
}

// Tracer returns the tracer of the node.
func (s *Sender) Tracer() trace.Tracer {
	if s.provider == nil {
		return spans.Nowhere()
	}
	return s.provider.Tracer(name)
}

const closeTimeout = 3 * time.Second

// Close sends the remaining spans, for a few seconds at most.
func (s *Sender) Close(logger *slog.Logger) {
	if s.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.provider.Shutdown(ctx); err != nil {
		logger.Warn("the last spans were not sent", "err", err)
	}
}
