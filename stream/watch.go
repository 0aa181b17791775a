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

// A Change says that a record was stored, without its body.
type Change struct {
	Session core.SessionID
	Kind    core.Kind
	Seq     uint64
	Chain   core.Chain
	Pos     core.Pos
}

// Watch yields a Change for every record of a shard behind after, in order, and
// waits for more. It ends when the caller stops ranging, or with an error,
// ctx's included. Messages that are no records are passed over.
func (l *Log) Watch(ctx context.Context, shard int, after core.Pos) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for m, err := range l.messages(ctx, shard, after) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			if ch, ok := change(m); ok && !yield(ch, nil) {
				return
			}
		}
	}
}

// messages yields every message of a shard behind after, without its data.
func (l *Log) messages(ctx context.Context, shard int, after core.Pos) iter.Seq2[jetstream.Msg, error] {
	return func(yield func(jetstream.Msg, error) bool) {
		name := streamName(l.cfg.Name, shard)
		c, err := l.js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:   uint64(after) + 1,
			HeadersOnly:   true,
			// What a watcher that died leaves at the server goes soon.
			InactiveThreshold: time.Minute,
		})
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

func change(m jetstream.Msg) (Change, bool) {
	id, err := sessionOf(m.Subject())
	if err != nil {
		return Change{}, false
	}
	meta, err := m.Metadata()
	if err != nil {
		return Change{}, false
	}
	seq, err := strconv.ParseUint(m.Headers().Get(hdrSeq), 10, 64)
	if err != nil {
		return Change{}, false
	}
	chain, err := core.ParseChain(m.Headers().Get(hdrChain))
	if err != nil {
		return Change{}, false
	}
	return Change{
		Session: id,
		Chain:   chain,
		Kind:    core.Kind(m.Headers().Get(hdrKind)),
		Seq:     seq,
		Pos:     core.Pos(meta.Sequence.Stream),
	}, true
}

// ChainAt returns the chain of the record at pos of a shard, whatever its
// session. core.ErrNotFound when none is there: it was dropped with the prefix
// that it was in, or the log lost it.
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
	return core.ParseChain(m.Header.Get(hdrChain))
}

// ShardState is how much a shard holds.
type ShardState struct {
	Stream   string   `json:"stream"`
	First    core.Pos `json:"first"`
	Last     core.Pos `json:"last"`
	Messages uint64   `json:"messages"`
	Missing  uint64   `json:"missing"` // messages between First and Last that are gone
	Bytes    uint64   `json:"bytes"`
	Sessions uint64   `json:"sessions"`
	Leader   string   `json:"leader,omitempty"`
	Replicas int      `json:"replicas"`
}

// State asks the shard's leader how much it holds.
func (l *Log) State(ctx context.Context, shard int) (ShardState, error) {
	name := streamName(l.cfg.Name, shard)
	s, err := l.js.Stream(ctx, name)
	if err != nil {
		return ShardState{}, fmt.Errorf("state of %s: %w", name, readEdge(err))
	}
	info := s.CachedInfo()
	st := ShardState{
		Stream:   name,
		First:    core.Pos(info.State.FirstSeq),
		Last:     core.Pos(info.State.LastSeq),
		Messages: info.State.Msgs,
		Missing:  uint64(max(info.State.NumDeleted, 0)),
		Bytes:    info.State.Bytes,
		Sessions: info.State.NumSubjects,
		Replicas: info.Config.Replicas,
	}
	if info.Cluster != nil {
		st.Leader = info.Cluster.Leader
	}
	return st, nil
}
