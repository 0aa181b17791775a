package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/internal/spans"
)

// name is what spans say they were made by.
const name = "github.com/sesslog/sesslog"

// Node is what every span says of where it was made.
type Node struct {
	Name, Version string
}

// A Sender makes spans and sends them.
type Sender struct {
	provider *sdk.TracerProvider // nil where nobody asked for it
}

// Asked reports whether the environment asks for traces.
func Asked(env func(string) string) bool {
	switch {
	case env("OTEL_SDK_DISABLED") == "true", env("OTEL_TRACES_EXPORTER") == "none":
		return false
	}
	return env("OTEL_TRACES_EXPORTER") == "otlp" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Start returns a Sender for the environment of this process, of which env is a
// reader: OTEL_EXPORTER_OTLP_… say where a collector is, OTEL_TRACES_SAMPLER what
// is sampled, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES what is said of the
// node; default service "sessnode". Without OTEL_TRACES_EXPORTER=otlp or an endpoint
// nothing is made or sent. A collector that is away is no error: spans that nobody
// takes are dropped.
func Start(ctx context.Context, env func(string) string, n Node) (*Sender, error) {
	if !Asked(env) {
		return &Sender{}, nil
	}
	for _, key := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := env(key); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("%s is %.64q, traces are sent by http/protobuf alone", key, p)
		}
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// What the environment says comes last and wins.
	where, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "sessnode"), attribute.String("service.version", n.Version), attribute.String("service.instance.id", n.Name),
	), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Sender{sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(where))}, nil
}

// Tracer makes spans.
func (s *Sender) Tracer() trace.Tracer {
	if s.provider == nil {
		return spans.Nowhere()
	}
	return s.provider.Tracer(name)
}

// closeTime is how long the last spans may take to be sent.
const closeTime = 3 * time.Second

// Close sends what is left, for some seconds at most.
func (s *Sender) Close(logger *slog.Logger) {
	if s.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := s.provider.Shutdown(ctx); err != nil {
		logger.Warn("the last spans were not sent", "err", err)
	}
}
