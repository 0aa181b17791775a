package server_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/nodetest"
)

// An album keeps ended spans in memory.
type album struct {
	mu    sync.Mutex
	spans []sdk.ReadOnlySpan
	grew  chan struct{}
}

func (a *album) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spans = append(a.spans, spans...)
	close(a.grew)
	a.grew = make(chan struct{})
	return nil
}

func (*album) Shutdown(context.Context) error { return nil }

// await waits until a trace has spans with all names and returns its spans.
func (a *album) await(t *testing.T, id trace.TraceID, names ...string) []sdk.ReadOnlySpan {
	t.Helper()
	for {
		a.mu.Lock()
		var of []sdk.ReadOnlySpan
		missing := slices.Clone(names)
		for _, s := range a.spans {
			if s.SpanContext().TraceID() == id {
				of = append(of, s)
				missing = slices.DeleteFunc(missing, func(name string) bool { return name == s.Name() })
			}
		}
		grew := a.grew
		a.mu.Unlock()
		if len(missing) == 0 {
			return of
		}
		select {
		case <-grew:
		case <-t.Context().Done():
			t.Fatalf("no spans %v in %d of the trace", missing, len(of))
		}
	}
}

func newAlbum(t *testing.T) (*album, trace.Tracer) {
	t.Helper()
	a := &album{grew: make(chan struct{})}
	p := sdk.NewTracerProvider(sdk.WithSyncer(a), sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return a, p.Tracer("test")
}

const (
	sampledTrace   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	unsampledTrace = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00"
)

// One trace connects the caller's request, the record in the log and the snapshot
// that it causes.
func TestTraceConnectsRequestToSnapshot(t *testing.T) {
	t.Parallel()
	spans, tracer := newAlbum(t)
	n := startNodeOf(t, nodetest.Config{Tracer: tracer})
	made, err := n.Create(t.Context(), api.Create{CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 300<<10) // large enough to trigger a snapshot
	_, _ = rand.Read(noise)
	line := `{"type":"message","message":{"role":"user","content":"` + hex.EncodeToString(noise) + `"}}`
	n.request(t, http.MethodPost, "/v1/sessions/"+string(made.ID)+"/entries", line, "traceparent", sampledTrace)

	id, _ := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	all := spans.await(t, id, "POST /v1/sessions/{id}/entries", "append", "record", "log append", "take in", "checkpoint", "snapshot")
	byID := map[trace.SpanID]sdk.ReadOnlySpan{}
	for _, s := range all {
		byID[s.SpanContext().SpanID()] = s
	}
	path := func(s sdk.ReadOnlySpan) string {
		var names []string
		for s != nil {
			names = append(names, s.Name())
			s = byID[s.Parent().SpanID()]
		}
		slices.Reverse(names)
		return strings.Join(names, " > ")
	}
	const request = "POST /v1/sessions/{id}/entries > append > record > log append"
	var paths []string
	for _, s := range all {
		paths = append(paths, path(s))
		for _, kv := range s.Attributes() {
			if text := kv.Value.String(); len(text) > 200 {
				t.Errorf("%s says %s with %d bytes", s.Name(), kv.Key, len(text))
			}
		}
	}
	for _, want := range []string{request, request + " > take in", request + " > take in > checkpoint > snapshot"} {
		if !slices.Contains(paths, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(paths, "\n"))
		}
	}
}

// Without tracing, records contain no trace data.
func TestRecordsWithoutTraceHaveNoTraceData(t *testing.T) {
	t.Parallel()
	_, tracer := newAlbum(t)
	for name, c := range map[string]struct {
		tracer trace.Tracer
		sent   string
		want   bool
	}{
		"off":         {nil, sampledTrace, false},
		"not sampled": {tracer, unsampledTrace, false},
		"none":        {tracer, "", false},
		"nonsense":    {tracer, "00-xyz-01", false},
		"sampled":     {tracer, sampledTrace, true},
	} {
		n := startNodeOf(t, nodetest.Config{Tracer: c.tracer})
		made, err := n.Create(t.Context(), api.Create{CWD: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		n.request(t, http.MethodPost, "/v1/sessions/"+string(made.ID)+"/entries", `{"type":"message","message":{"role":"user","content":"x"}}`, "traceparent", c.sent)
		js, err := jetstream.New(n.Conn)
		if err != nil {
			t.Fatal(err)
		}
		st, err := n.Config.Log.State(t.Context(), n.Config.Log.Shard(made.ID))
		if err != nil {
			t.Fatal(err)
		}
		s, err := js.Stream(t.Context(), st.Stream)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.GetLastMsgForSubject(t.Context(), "sess.*.*."+string(made.ID)) // the node stores barriers, too
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Header.Get("Sess-Trace"); (got != "") != c.want || m.Header.Get("traceparent") != "" {
			t.Errorf("%s: the record says %q", name, got)
		}
		n.Stop()
	}
}
