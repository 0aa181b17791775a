package sim

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/stream"
)

// Watch returns when its context ends, even while no server creates the consumer that the
// watcher needs.
func TestWatchEndsWithItsContext(t *testing.T) {
	warm(t)
	bubble(t, func(t *testing.T) {
		b := newBroker()
		nc, err := nats.Connect("nats://sim", nats.InProcessServer(door{b, "one"}), nats.PingInterval(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		l, err := stream.OpenLog(t.Context(), nc, stream.LogConfig{Shards: 2, Blobs: &kept{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var end error
		var done time.Time
		go func() {
			for _, err := range l.Watch(ctx, 0, 0) {
				end = err
			}
			done = time.Now()
		}()
		synctest.Wait()
		b.mu.Lock()
		b.gated = true // from now on there are no answers
		b.mu.Unlock()
		time.Sleep(4 * time.Second) // the consumer is silent, the watcher requests another
		told := time.Now()
		cancel()
		time.Sleep(time.Minute)
		if !errors.Is(end, context.Canceled) || !done.Equal(told) {
			t.Errorf("told to stop at %v, it ended at %v: %v", told, done, end)
		}
		nc.Close()
	})
}
