package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// Latency measures in a cluster, for d each, how long after its start an append at the
// first node is seen by a follower at the second: JetStream alone, and over HTTP.
func (ns *Nodes) Latency(ctx context.Context, d time.Duration) ([]Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cpu := ns.cpu(ctx, ns.list...)
	raw, err := measure(ctx, "raw JetStream publish to consumer", 1, d, cpu, ns.rawFollowed)
	if err != nil {
		return nil, err
	}
	own, err := measure(ctx, "append to follower", 1, d, cpu, ns.followed)
	if err != nil {
		return nil, err
	}
	return []Result{raw, own.relativeTo(raw)}, nil
}

// await waits until seen yields at least seq.
func await(ctx context.Context, seen <-chan uint64, seq uint64) error {
	for {
		select {
		case got := <-seen:
			if got >= seq {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followed opens a writer that appends at the first node and waits for the second.
func (ns *Nodes) followed(ctx context.Context, _ int) (writer, error) {
	s, err := ns.client(ns.list[0]).Create(ctx, api.Create{Dialect: "pi", CWD: "/w"})
	if err != nil {
		return nil, err
	}
	seen := make(chan uint64, 64)
	go func() {
		_ = ns.client(ns.list[1]).Follow(ctx, string(s.ID), core.Cursor{}, true, func(ev api.Event) error {
			select {
			case seen <- ev.Seq:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	next := lines(1)
	return func(ctx context.Context) error {
		r, err := ns.client(ns.list[0]).Append(ctx, string(s.ID), next(), client.AppendOptions{})
		if err != nil {
			return err
		}
		return await(ctx, seen, r.Cursor.Seq)
	}, nil
}

// rawFollowed opens a writer that publishes at the first server and waits for an ordered
// consumer at the second.
func (ns *Nodes) rawFollowed(ctx context.Context, _ int) (writer, error) {
	var js [2]jetstream.JetStream
	for i := range js {
		c, err := nats.Connect(ns.list[i].nats)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, c.Close)
		if js[i], err = jetstream.New(c); err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("RAW_SEEN_%d", time.Now().UnixNano())
	if _, err := js[0].CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}, Replicas: 3}); err != nil {
		return nil, err
	}
	consumer, err := js[1].OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	seen := make(chan uint64, 64)
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		if meta, err := m.Metadata(); err == nil {
			seen <- meta.Sequence.Stream
		}
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, reading.Stop)
	next := lines(1)
	return func(ctx context.Context) error {
		ack, err := js[0].Publish(ctx, name, next())
		if err != nil {
			return err
		}
		return await(ctx, seen, ack.Sequence)
	}, nil
}
