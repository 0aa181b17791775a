package streamtest

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// Connect returns a connection to s that the test closes.
func Connect(t testing.TB, s *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Open opens the log of cfg, with blobs in memory if cfg names none.
func Open(t testing.TB, nc *nats.Conn, cfg stream.LogConfig) *stream.Log {
	t.Helper()
	l, err := TryOpen(t, nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TryOpen is Open for a test that expects an error.
func TryOpen(t testing.TB, nc *nats.Conn, cfg stream.LogConfig) (*stream.Log, error) {
	t.Helper()
	if cfg.Blobs == nil {
		cfg.Blobs = NewBlobs()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return stream.OpenLog(ctx, nc, cfg)
}
