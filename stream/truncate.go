package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// A Prefix is the beginning of shards, which can be dropped. A Log is one.
type Prefix interface {
	// SessionsUpTo returns the sessions that have records in a shard up to
	// upTo, by name. core.ErrInvalid where the shard ends before.
	SessionsUpTo(ctx context.Context, shard int, upTo core.Pos) ([]core.SessionID, error)
	// Drop drops a shard's records up to upTo, whoever needs them.
	Drop(ctx context.Context, shard int, upTo core.Pos) error
}

// Truncate drops the records of a shard of l up to upTo, once no session needs
// any of them: each session that has one there is loaded from the leader, its
// snapshot read and its chain proved, and gets a checkpoint where its base does
// not lie behind. checkpoint writes one, snapshot and record. l is the log of
// ss. On error nothing was dropped; checkpoints may have been written. A session
// that cannot be read, or that was erased, is in the way.
func (ss *Sessions) Truncate(ctx context.Context, l Prefix, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) error {
	ids, err := l.SessionsUpTo(ctx, shard, upTo)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := ss.vacate(ctx, id, upTo, checkpoint); err != nil {
			return fmt.Errorf("records of shard %d up to %d stay: session %s: %w", shard, upTo, id, err)
		}
	}
	return l.Drop(ctx, shard, upTo)
}

// vacate sees to it that a session needs no record up to upTo.
func (ss *Sessions) vacate(ctx context.Context, id core.SessionID, upTo core.Pos, checkpoint func(context.Context, *Session) error) error {
	s, err := ss.Open(ctx, id)
	if err != nil || s.from > upTo {
		return err
	}
	if len(s.strays) > 0 {
		if err := s.Adopt(ctx); err != nil {
			return err
		}
	}
	if err := checkpoint(ctx, s); err != nil {
		return err
	}
	if s, err = ss.Open(ctx, id); err != nil { // as a reader finds it now
		return err
	}
	if s.from <= upTo {
		return fmt.Errorf("it is read from %d on in spite of a new checkpoint: %w", s.from, core.ErrConflict)
	}
	return nil
}

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
	if st.Messages == 0 || st.First > upTo {
		return nil, nil
	}
	for m, err := range l.messages(ctx, shard, 0) {
		if err != nil {
			return nil, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return nil, fmt.Errorf("a message of shard %d without a sequence: %v: %w", shard, err, core.ErrCorrupt)
		}
		at := core.Pos(meta.Sequence.Stream)
		if id, err := sessionOf(m.Subject()); err == nil && at <= upTo {
			ids[id] = true
		}
		if at >= upTo || meta.NumPending == 0 {
			break
		}
	}
	return slices.Sorted(maps.Keys(ids)), nil
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
