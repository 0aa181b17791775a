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

func TestLogOnASingleServer(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{})
	logtest.Test(t, func(*testing.T) core.Log { return l })
}

// Every subtest speaks to another server of the cluster, so most of them to
// one that does not lead.
func TestLogOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers; not with -short")
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
