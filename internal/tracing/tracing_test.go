package tracing

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The collector in the environment gets the spans, with the configured headers.
func TestEnvironmentConfiguresCollector(t *testing.T) {
	type call struct{ path, header, body string }
	calls := make(chan call, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		calls <- call{r.URL.Path, r.Header.Get("X-Key"), string(b)}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-mine")
	t.Setenv("OTEL_SERVICE_NAME", "my-log")
	s, err := Start(t.Context(), os.Getenv, Node{Name: "n1", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	_, span := s.Tracer().Start(t.Context(), "a span of mine")
	span.End()
	s.Close(slog.New(slog.NewTextHandler(t.Output(), nil))) // sends what is left
	got := <-calls
	if got.path != "/v1/traces" || got.header != "of-mine" {
		t.Errorf("%s with %q", got.path, got.header)
	}
	for _, want := range []string{"a span of mine", "my-log", "n1"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("%q was not sent", want)
		}
	}
}

func TestTracingIsDisabledByDefault(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		s, err := Start(t.Context(), func(k string) string { return env[k] }, Node{})
		if err != nil {
			t.Fatal(err)
		}
		_, span := s.Tracer().Start(t.Context(), "x")
		if span.IsRecording() {
			t.Errorf("%v records", env)
		}
		s.Close(slog.Default())
	}
}

func TestUnsupportedProtocolIsRejected(t *testing.T) {
	t.Parallel()
	env := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
	if _, err := Start(t.Context(), func(k string) string { return env[k] }, Node{}); err == nil || !strings.Contains(err.Error(), "http/protobuf") {
		t.Errorf("%v", err)
	}
}
