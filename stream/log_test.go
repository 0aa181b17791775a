package stream_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

func TestLogOnASingleServer(t *testing.T) {
	t.Parallel()
	l := openLog(t, connect(t, embeddedtest.Start(t)), stream.LogConfig{})
	logtest.Test(t, func(*testing.T) core.Log { return l })
}

// Every subtest speaks to another server of the cluster, so most of them to
// one that does not lead.
func TestLogOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers; not with -short")
	}
	blobs := newBlobs()
	var logs []core.Log
	for _, s := range embeddedtest.StartCluster(t, 3) {
		logs = append(logs, openLog(t, connect(t, s), stream.LogConfig{Replicas: 3, Blobs: blobs, AckWait: 10 * time.Second}))
	}
	next := 0
	logtest.Test(t, func(*testing.T) core.Log {
		next++
		return logs[next%len(logs)]
	})
}

func connect(t *testing.T, s *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func openLog(t *testing.T, nc *nats.Conn, cfg stream.LogConfig) *stream.Log {
	t.Helper()
	l, err := tryLog(t, nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tryLog(t *testing.T, nc *nats.Conn, cfg stream.LogConfig) (*stream.Log, error) {
	t.Helper()
	if cfg.Blobs == nil {
		cfg.Blobs = newBlobs()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return stream.OpenLog(ctx, nc, cfg)
}
