package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/internal/retry"
)

// manyWriters is how many writers a node has.
const manyWriters = 64

// HTTP measures appends over HTTP for d each with 1 and with 64 writers, each to a
// separate session, beside raw publishing to the server that flushes each message. In
// a cluster, writers are spread over the nodes, and as many raw streams as the log has
// shards have three replicas on the same servers.
func (ns *Nodes) HTTP(ctx context.Context, d time.Duration) ([]Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connections
	nodes, servers, replicas := ns.list[:1], ns.list[1:], 1
	streams := rawShards
	if len(ns.list) > 2 {
		nodes, servers, replicas, streams = ns.list, ns.list, 3, 3
	}
	raw, closeRaw, err := rawStreams(ctx, servers, streams, replicas)
	if err != nil {
		return nil, err
	}
	defer closeRaw()
	var out []Result
	for _, writers := range []int{1, manyWriters} {
		base, err := measure(ctx, rawName, writers, d, ns.cpu(ctx, servers...), raw)
		if err != nil {
			return nil, err
		}
		own, err := measure(ctx, "append over HTTP", writers, d, ns.cpu(ctx, nodes...), ns.httpWriter(nodes))
		if err != nil {
			return nil, err
		}
		out = append(out, base, own.relativeTo(base))
	}
	return out, nil
}

// httpWriter opens writers that append over HTTP, spread over the nodes.
func (ns *Nodes) httpWriter(nodes []*node) func(context.Context, int) (writer, error) {
	return func(ctx context.Context, i int) (writer, error) {
		n := nodes[i%len(nodes)]
		s, err := ns.client(n).Create(ctx, api.Create{Dialect: "pi", CWD: "/w"})
		if err != nil {
			return nil, err
		}
		p, err := NewPoster(ctx, n.url+"/v1/sessions/"+string(s.ID)+"/entries", "application/x-ndjson")
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = p.Close() })
		next := lines(uint64(i))
		return func(context.Context) error { return p.Post(next()) }, nil
	}
}

// rawStreams creates streams, and returns what opens writers that publish to them, with
// a sequence check. The function that it returns last deletes the streams.
func rawStreams(ctx context.Context, servers []*node, streams, replicas int) (func(context.Context, int) (writer, error), func(), error) {
	var js []jetstream.JetStream
	var conns []*nats.Conn
	name := func(i int) string { return fmt.Sprintf("RAW_%d", i) }
	stop := func() {
		for i := range streams {
			if len(js) > 0 {
				_ = js[0].DeleteStream(context.WithoutCancel(ctx), name(i))
			}
		}
		for _, c := range conns {
			c.Close()
		}
	}
	for _, n := range servers {
		c, err := nats.Connect(n.nats)
		if err != nil {
			stop()
			return nil, nil, err
		}
		conns = append(conns, c)
		j, err := jetstream.New(c)
		if err != nil {
			stop()
			return nil, nil, err
		}
		js = append(js, j)
	}
	for i := range streams {
		cfg := jetstream.StreamConfig{Name: name(i), Subjects: []string{name(i) + ".*"}, Replicas: replicas, Discard: jetstream.DiscardNew, AllowDirect: true}
		if _, err := js[0].CreateStream(ctx, cfg); err != nil {
			stop()
			return nil, nil, err
		}
	}
	open := func(_ context.Context, i int) (writer, error) {
		subject := fmt.Sprintf("%s.%d-%d", name(i%streams), i, time.Now().UnixNano())
		return publisher(js[i%len(js)], subject, lines(uint64(i))), nil
	}
	return open, stop, nil
}

// publisher returns a writer that publishes to a new subject, with a sequence check.
func publisher(js jetstream.JetStream, subject string, next func() []byte) writer {
	var last uint64
	return func(ctx context.Context) error {
		line := next()
		for {
			ack, err := js.Publish(ctx, subject, line, jetstream.WithExpectLastSequencePerSubject(last))
			if err == nil {
				last = ack.Sequence
				return nil
			}
			if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != stillInFlight {
				return err
			}
			if err := retry.Wait(ctx, 2*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// stillInFlight is the code with which a server with replicas refuses a message for a
// moment after it answered the previous one.
const stillInFlight = 10164
