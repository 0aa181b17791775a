package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// A Change says that a record was stored, without its body; or, where it has no
// Session, that what is stored at Pos is no record, such as a barrier.
type Change struct {
	Session core.SessionID
	Kind    core.Kind
	Seq     uint64
	Chain   core.Chain
	Pos     core.Pos
}

// Watch yields a Change for every message of a shard behind after, in order, and
// waits for more. It ends when the caller stops ranging, or with an error,
// ctx's included. A message that is no record has a Change, too: whoever waits
// for the shard's end must see that it was reached.
func (l *Log) Watch(ctx context.Context, shard int, after core.Pos) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for m, err := range l.messages(ctx, shard, after) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			if !yield(change(m), nil) {
				return
			}
		}
	}
}

// messages yields every message of a shard behind after, without its data.
func (l *Log) messages(ctx context.Context, shard int, after core.Pos) iter.Seq2[jetstream.Msg, error] {
	return l.consume(ctx, shard, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   uint64(after) + 1,
	})
}

// consume yields messages of a shard without their data, in order, and waits for
// more. cfg says where it begins.
func (l *Log) consume(ctx context.Context, shard int, cfg jetstream.OrderedConsumerConfig) iter.Seq2[jetstream.Msg, error] {
	cfg.HeadersOnly = true
	cfg.InactiveThreshold = time.Minute // what a watcher that died leaves at the server goes soon
	return func(yield func(jetstream.Msg, error) bool) {
		name := streamName(l.cfg.Name, shard)
		c, err := l.js.OrderedConsumer(ctx, name, cfg)
		if err != nil {
			yield(nil, fmt.Errorf("watch %s: %w", name, readEdge(err)))
			return
		}
		msgs, err := c.Messages()
		if err != nil {
			yield(nil, fmt.Errorf("watch %s: %w", name, readEdge(err)))
			return
		}
		defer msgs.Stop()
		stop := context.AfterFunc(ctx, msgs.Stop)
		defer stop()
		for {
			m, err := msgs.Next()
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("watch %s: %w", name, readEdge(err)))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

func change(m jetstream.Msg) Change {
	var ch Change
	if meta, err := m.Metadata(); err == nil {
		ch.Pos = core.Pos(meta.Sequence.Stream)
	}
	id, err := sessionOf(m.Subject())
	if err != nil {
		return ch
	}
	seq, err := strconv.ParseUint(m.Headers().Get(hdrSeq), 10, 64)
	if err != nil {
		return ch
	}
	chain, err := core.ParseChain(m.Headers().Get(hdrChain))
	if err != nil {
		return ch
	}
	ch.Session, ch.Kind, ch.Seq, ch.Chain = id, core.Kind(m.Headers().Get(hdrKind)), seq, chain
	return ch
}

// ChainAt returns the chain of the record at pos of a shard, whatever its
// session. core.ErrNotFound when none is there: it was dropped with the prefix
// that it was in, or the log lost it. It is zero where no record but a barrier is.
func (l *Log) ChainAt(ctx context.Context, shard int, pos core.Pos) (core.Chain, error) {
	s, err := l.js.Stream(ctx, streamName(l.cfg.Name, shard))
	if err != nil {
		return core.Chain{}, readEdge(err)
	}
	m, err := s.GetMsg(ctx, uint64(pos))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return core.Chain{}, fmt.Errorf("record at %d of shard %d: %w", pos, shard, core.ErrNotFound)
	}
	if err != nil {
		return core.Chain{}, readEdge(err)
	}
	if m.Header.Get(hdrChain) == "" {
		return core.Chain{}, nil
	}
	return core.ParseChain(m.Header.Get(hdrChain))
}
