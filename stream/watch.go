package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// A Change describes a stored record without its body. If Session is empty, the
// message at Pos is not a record, for example a barrier.
type Change struct {
	Session core.SessionID
	Kind    core.Kind
	Seq     uint64
	Chain   core.Chain
	Pos     core.Pos
	// Subject is the session of the message's subject, even if the message is not a
	// record. Empty for a barrier.
	Subject core.SessionID
	Base    core.Pos // of the record
	Bytes   int64    // approximate size of the message in the stream
	Trace   string   // trace context of the append, see package internal/spans; usually empty
}

// Watch yields a Change for every message of a shard after position after, in order,
// and waits for more. It ends when the caller stops ranging, or with an error,
// including that of ctx. Messages that are not records are included, so that a
// caller can detect that it has reached the shard's end. If the last messages of a
// single copy are damaged, a Change has only the position of the end.
func (l *Log) Watch(ctx context.Context, shard int, after core.Pos) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		w := watcher{log: l, stream: streamName(l.cfg.Name, shard), at: after}
		if l.cfg.Replicas == 1 {
			w.passed = func(last core.Pos) bool { return yield(Change{Pos: last}, nil) }
		}
		for m, err := range l.watch(ctx, w) {
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

// messagesToEnd yields every message of a shard, without its data, up to its end. With
// several replicas it may continue: one that is silent may lag.
func (l *Log) messagesToEnd(ctx context.Context, shard int) iter.Seq2[jetstream.Msg, error] {
	return l.watch(ctx, watcher{log: l, stream: streamName(l.cfg.Name, shard), ends: l.cfg.Replicas == 1})
}

// lastMessages yields the last message of each subject of a shard, without its
// data, in order. It ends like messagesToEnd.
func (l *Log) lastMessages(ctx context.Context, shard int) iter.Seq2[jetstream.Msg, error] {
	return l.watch(ctx, watcher{log: l, stream: streamName(l.cfg.Name, shard), lastOnly: true, ends: l.cfg.Replicas == 1})
}

func (l *Log) watch(ctx context.Context, w watcher) iter.Seq2[jetstream.Msg, error] {
	return func(yield func(jetstream.Msg, error) bool) {
		w := w
		w.yield = yield
		err := w.run(ctx)
		switch {
		case errors.Is(err, errStop):
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		default:
			yield(nil, fmt.Errorf("watch %s: %w", w.stream, mapReadError(err)))
		}
	}
}

func change(m jetstream.Msg) Change {
	var ch Change
	if meta, err := m.Metadata(); err == nil {
		ch.Pos = core.Pos(meta.Sequence.Stream)
	}
	h := m.Headers()
	ch.Bytes = sizeOf(&nats.Msg{Subject: m.Subject(), Header: h})
	if n, err := strconv.ParseInt(h.Get(hdrSize), 10, 64); err == nil {
		ch.Bytes += n
	}
	id, err := sessionOf(m.Subject())
	if err != nil {
		return ch
	}
	ch.Subject = id
	seq, err := strconv.ParseUint(h.Get(hdrSeq), 10, 64)
	if err != nil {
		return ch
	}
	chain, err := core.ParseChain(h.Get(hdrChain))
	if err != nil {
		return ch
	}
	if base, err := strconv.ParseUint(h.Get(hdrBase), 10, 64); err == nil {
		ch.Base = core.Pos(base)
	}
	ch.Trace = h.Get(hdrTrace)
	ch.Session, ch.Kind, ch.Seq, ch.Chain = id, core.Kind(h.Get(hdrKind)), seq, chain
	return ch
}

// hdrSize is the body size of a message that is delivered without its body.
const hdrSize = "Nats-Msg-Size"

// ChainAt returns the chain of the record at pos of a shard, or zero if that is a
// barrier. Returns core.ErrNotFound if there is no message: it was truncated, or the
// log lost it.
func (l *Log) ChainAt(ctx context.Context, shard int, pos core.Pos) (core.Chain, error) {
	s, err := l.js.Stream(ctx, streamName(l.cfg.Name, shard))
	if err != nil {
		return core.Chain{}, mapReadError(err)
	}
	m, err := s.GetMsg(ctx, uint64(pos))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return core.Chain{}, fmt.Errorf("record at %d of shard %d: %w", pos, shard, core.ErrNotFound)
	}
	if err != nil {
		return core.Chain{}, mapReadError(err)
	}
	if err := l.readable(ctx, streamName(l.cfg.Name, shard), pos); err != nil {
		return core.Chain{}, err
	}
	if m.Header.Get(hdrChain) == "" {
		return core.Chain{}, nil
	}
	return core.ParseChain(m.Header.Get(hdrChain))
}
