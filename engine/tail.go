package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// Tail is the records that a session is read from, besides a snapshot.
type Tail struct {
	// Seq and Chain are of the record before the first of Records. Both are zero if that is
	// the session's open, its erase, or the first record that the log has.
	Seq   uint64
	Chain core.Chain
	// Covered is the last record in the snapshot that the session is read from; 0 if it is
	// read from its open.
	Covered uint64
	// Last is the last record that the leader had, without its body.
	Last *core.Record
	// Records are the verified records up to Last, without orphans. An error is yielded
	// once, last.
	Records iter.Seq2[*storage.Lazy, error]
}

// TailFrom says where a tail begins.
type TailFrom struct {
	// After is a record that the caller has. The tail starts after it if it is on the
	// session's chain and not before its base, and at the base otherwise.
	After core.Cursor
	// Start requests all records that the log has.
	Start bool
}

// Tail returns a session's records from its base: those that its snapshot does not
// cover, or all since its open. The base is one of them. It reads no snapshot. It
// returns core.ErrCorrupt if the base is missing. If the last record cannot be read,
// Records yields those before it and then a storage.EndError.
func (ss *Sessions) Tail(ctx context.Context, id core.SessionID, from TailFrom) (*Tail, error) {
	l := ss.cfg.Log
	var err error
	for range maxLoads { // a checkpoint and a truncation may happen meanwhile
		var last *core.Record
		last, err = ss.lastOf(ctx, id)
		end, atEnd := errors.AsType[*storage.EndError](err)
		if atEnd {
			last, err = ss.beforeDamage(ctx, id, end)
		}
		if err != nil {
			return nil, err
		}
		var t *Tail
		if t, err = tailTo(ctx, l, id, last, from); err == nil && atEnd {
			t.Records = thenFail(t.Records, end)
		}
		if err == nil || !isDamage(err) {
			return t, err
		}
	}
	return nil, fmt.Errorf("session %s is damaged (look with: sessctl verify %s): %v: %w", id, id, err, core.ErrCorrupt)
}

// thenFail yields the records of seq and then err.
func thenFail(seq iter.Seq2[*storage.Lazy, error], err error) iter.Seq2[*storage.Lazy, error] {
	return func(yield func(*storage.Lazy, error) bool) {
		for z, err := range seq {
			if !yield(z, err) || err != nil {
				return
			}
		}
		yield(nil, err)
	}
}

// tailTo is Tail for a session that ends with last.
func tailTo(ctx context.Context, l Log, id core.SessionID, last *core.Record, from TailFrom) (*Tail, error) {
	t := &Tail{Last: last}
	if last.Kind == core.KindErase {
		t.Records = ScanTo(ctx, l, id, last.Pos-1, last.Pos)
		return t, nil
	}
	var begin mark
	if !from.Start {
		base, err := baseLinks(ctx, l, id, last)
		if err != nil {
			return nil, err
		}
		if begin, t.Seq, err = beforeBase(base); err != nil {
			return nil, err
		}
		t.Covered = t.Seq
		if from.After.Seq >= base.Seq {
			at, err := findAfter(ctx, l, id, begin, t.Seq, last, from.After)
			if err != nil {
				return nil, err
			}
			if at.pos != 0 {
				begin, t.Seq = at, from.After.Seq
			}
		}
	}
	t.Chain = begin.chain
	t.Records = t.chained(ctx, l, id, begin.pos)
	return t, nil
}

func (t *Tail) chained(ctx context.Context, l Log, id core.SessionID, after core.Pos) iter.Seq2[*storage.Lazy, error] {
	var have core.Cursor
	if t.Seq != 0 {
		have = core.CursorOf(t.Seq, t.Chain)
	}
	return ChainedLazily(ctx, l, id, after, have, ScanTo(ctx, l, id, after, t.Last.Pos))
}

// baseLinks returns the base of last, without its body if that is an open.
func baseLinks(ctx context.Context, l Log, id core.SessionID, last *core.Record) (*core.Record, error) {
	at := last.Base
	if last.Kind == core.KindOpen || last.Kind == core.KindCheckpoint {
		at = last.Pos
	}
	base, err := l.LinkAt(ctx, id, at)
	if err == nil && base.Kind == core.KindCheckpoint && len(base.Body) == 0 {
		base, err = l.At(ctx, id, at)
	}
	if err != nil {
		return nil, fmt.Errorf("base of record %d: %w", last.Seq, err)
	}
	return base, nil
}

// beforeBase returns the record that the records of a session with that base follow.
func beforeBase(base *core.Record) (mark, uint64, error) {
	switch base.Kind {
	case core.KindOpen:
		return mark{}, 0, nil
	case core.KindCheckpoint:
		m, err := base.Manifest()
		if err != nil {
			return mark{}, 0, err
		}
		return mark{base.Base, m.Chain}, m.Seq, nil
	}
	return mark{}, 0, fmt.Errorf("record %d, of kind %q, is not a base: %w", base.Seq, base.Kind, core.ErrCorrupt)
}

// findAfter returns the record that want names among those after a mark, whose seq
// is seq. It returns the zero mark if there is none.
func findAfter(ctx context.Context, l Log, id core.SessionID, after mark, seq uint64, last *core.Record, want core.Cursor) (mark, error) {
	if core.CursorOf(last.Seq, last.Chain) == want {
		return mark{last.Pos, last.Chain}, nil
	}
	t := Tail{Seq: seq, Chain: after.chain, Last: last}
	for z, err := range t.chained(ctx, l, id, after.pos) {
		if err != nil {
			return mark{}, err
		}
		if core.CursorOf(z.Seq, z.Chain) == want {
			return mark{z.Pos, z.Chain}, nil
		}
		if z.Seq >= want.Seq {
			break
		}
	}
	return mark{}, nil
}
