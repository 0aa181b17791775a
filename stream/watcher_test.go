package stream_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// A server of a cluster loses a request for messages if it does not know yet which
// server has the consumer. The walk asks again.
func TestWalkEndsAfterLostRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := embedded.Start(ctx, embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	var loses atomic.Bool
	nc, err := nats.Connect(s.ClientURL(), nats.SetCustomDialer(lossyDialer{&loses}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	l := streamtest.Open(t, nc, stream.LogConfig{Shards: 1})
	id := logtest.NewID()
	r := &core.Record{Kind: core.KindAppend, Seq: 1, Head: core.MainHead, Writer: "w", Body: []byte("x")}
	r.Chain = core.Chain{}.Next(r)
	pos, err := l.Append(ctx, id, 0, r)
	if err != nil {
		t.Fatal(err)
	}
	loses.Store(true)
	ids, err := l.SessionsUpTo(ctx, 0, pos)
	if err != nil || len(ids) != 1 || ids[0] != id {
		t.Errorf("sessions %v, %v", ids, err)
	}
	if loses.Load() {
		t.Error("no request was lost")
	}
}

// A lossyDialer makes connections that lose the next request for messages of a consumer
// if loses is set.
type lossyDialer struct{ loses *atomic.Bool }

func (d lossyDialer) Dial(network, addr string) (net.Conn, error) {
	c, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	return lossyConn{c, d.loses}, nil
}

type lossyConn struct {
	net.Conn
	loses *atomic.Bool
}

func (c lossyConn) Write(p []byte) (int, error) {
	request := []byte("$JS.API.CONSUMER.MSG.NEXT.")
	if bytes.Contains(p, request) && c.loses.CompareAndSwap(true, false) {
		p = bytes.Replace(p, request, []byte("$JS.API.CONSUMER.MSG.LOST."), 1)
	}
	return c.Conn.Write(p)
}
