package stream_test

import (
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestLogOnSingleServer(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{})
	logtest.Test(t, func(*testing.T) core.Log { return l })
}

// Each subtest uses another server of the cluster, usually one that is not the
// leader.
func TestLogOnCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs three servers; skipped with -short")
	}
	blobs := streamtest.NewBlobs()
	var logs []core.Log
	for _, s := range embeddedtest.StartCluster(t, 3) {
		logs = append(logs, streamtest.Open(t, streamtest.Connect(t, s), stream.LogConfig{Replicas: 3, Blobs: blobs, AckWait: 10 * time.Second}))
	}
	next := 0
	logtest.Test(t, func(*testing.T) core.Log {
		next++
		return logs[next%len(logs)]
	})
}
