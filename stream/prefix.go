package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// SessionsUpTo implements Prefix: the stream itself tells.
func (l *Log) SessionsUpTo(ctx context.Context, shard int, upTo core.Pos) ([]core.SessionID, error) {
	st, err := l.State(ctx, shard)
	if err != nil {
		return nil, err
	}
	if upTo > st.Last {
		return nil, fmt.Errorf("shard %d ends at %d: %w", shard, st.Last, core.ErrInvalid)
	}
	ids := map[core.SessionID]bool{}
	for ch, err := range l.Walk(ctx, shard, st, upTo) {
		if err != nil {
			return nil, err
		}
		if ch.Subject != "" {
			ids[ch.Subject] = true
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
}

// Walk yields a Change for every message of a shard up to upTo, in order, and
// ends. st is the shard's state of a moment ago. It reads all of them but for
// their bodies.
func (l *Log) Walk(ctx context.Context, shard int, st ShardState, upTo core.Pos) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if st.Last == 0 || st.First > min(upTo, st.Last) { // nothing was ever there, or it was dropped
			return
		}
		for m, err := range l.messages(ctx, shard, 0) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			meta, err := m.Metadata()
			if err != nil {
				yield(Change{}, fmt.Errorf("a message of shard %d without a sequence: %v: %w", shard, err, core.ErrCorrupt))
				return
			}
			at := core.Pos(meta.Sequence.Stream)
			if at <= upTo && !yield(change(m), nil) || at >= upTo || meta.NumPending == 0 {
				return
			}
		}
	}
}

// Drop implements Prefix.
func (l *Log) Drop(ctx context.Context, shard int, upTo core.Pos) error {
	s, err := l.js.Stream(ctx, streamName(l.cfg.Name, shard))
	if err != nil {
		return readEdge(err)
	}
	err = s.Purge(ctx, jetstream.WithPurgeSequence(uint64(upTo)+1))
	if errors.Is(err, context.Canceled) {
		return err
	}
	return readEdge(err)
}
