package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

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

// An InTheWayError names the session because of which a prefix stays.
type InTheWayError struct {
	Session core.SessionID
	Err     error
}

func (e *InTheWayError) Error() string { return fmt.Sprintf("session %s: %v", e.Session, e.Err) }

// Unwrap returns why.
func (e *InTheWayError) Unwrap() error { return e.Err }

// Truncate drops the records of a shard of l up to upTo, once no session needs
// any of them: each session that has one there is loaded from the leader, its
// snapshot read and its chain proved, and gets a checkpoint where its base does
// not lie behind; the erase record of one that was erased is stored again.
// checkpoint writes one, snapshot and record; it is called from several goroutines
// at once, for Config.AtOnce sessions at most. l is the log of ss. On error nothing
// was dropped; checkpoints may have been written. A session that cannot be read,
// or takes no checkpoint, is an InTheWayError: the first one that was met. The
// sessions at work then come to their end, and no other is begun.
//
// Where the brokers flush only every Config.FlushEvery, they may yet forget such
// a checkpoint, but no drop. So twice that time passes before the drop, and all
// is proved again then.
func (ss *Sessions) Truncate(ctx context.Context, l Prefix, shard int, upTo core.Pos, checkpoint func(context.Context, *Session) error) error {
	flushed := ss.cfg.FlushEvery == 0
	for {
		wrote, err := ss.vacateAll(ctx, l, shard, upTo, checkpoint)
		if err != nil {
			return fmt.Errorf("records of shard %d up to %d stay: %w", shard, upTo, err)
		}
		if flushed && (!wrote || ss.cfg.FlushEvery == 0) {
			return l.Drop(ctx, shard, upTo)
		}
		if err := wait(ctx, 2*ss.cfg.FlushEvery); err != nil {
			return fmt.Errorf("records of shard %d up to %d stay: %w", shard, upTo, err)
		}
		flushed = true
	}
}

// wait returns after d, or ctx's error once that has ended.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// raise stores the erase record of a session once more where it lies in the
// prefix: who erased it, when and why is told for ever, and its id is never used
// again.
func (ss *Sessions) raise(ctx context.Context, id core.SessionID, upTo core.Pos) (wrote bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.Timeout)
	defer cancel()
	for {
		last, err := ss.cfg.Log.Last(ctx, id)
		switch {
		case err != nil:
			return false, err
		case last.Kind != core.KindErase:
			return false, fmt.Errorf("a %s record follows its erase record: %w", last.Kind, core.ErrCorrupt)
		case last.Pos > upTo:
			return wrote, nil
		}
		if err := ss.linked(ctx, id, last); err != nil {
			return false, err
		}
		r := &core.Record{
			Kind: core.KindErase, Seq: last.Seq + 1, Base: last.Pos,
			Head: last.Head, Writer: last.Writer, Epoch: last.Epoch, Body: last.Body,
		}
		r.Chain = last.Chain.Next(r)
		_, err = ss.cfg.Log.Append(ctx, id, last.Pos, r)
		if err != nil && !errors.Is(err, core.ErrConflict) && !errors.Is(err, core.ErrUncertain) {
			return false, err
		}
		wrote = true // reading on tells
		if err != nil && pause(ctx) != nil {
			return false, err
		}
	}
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

// FlushEvery is how often the brokers flush what they acknowledged, 0 for before
// every answer.
func (ss *Sessions) FlushEvery() time.Duration { return ss.cfg.FlushEvery }
