package stream_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A server that has just restarted may lead a stream and answer that it does not exist.
func TestOpenAsksAgainForAStreamThatMustExist(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	streamtest.Open(t, nc, stream.LogConfig{Name: "again", Shards: 2})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	const name = "SESS_again_01"
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	if err := js.DeleteStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	asked, err := nc.SubscribeSync("$JS.API.STREAM.INFO." + name)
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := streamtest.TryOpen(t, nc, stream.LogConfig{Name: "again", Shards: 2})
		opened <- err
	}()
	for range 2 { // the first question has its answer when the second one is asked
		if _, err := asked.NextMsg(10 * time.Second); err != nil {
			t.Fatalf("the log does not ask for %s again: %v, %v", name, err, <-opened)
		}
	}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
