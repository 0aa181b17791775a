package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// mostLent bounds the records that are asked of the leader one by one.
const mostLent = readBatch

// lent returns the session's records behind after up to the one at upTo, oldest
// first, as the leader has them: each is found by the one that was stored behind
// it. They are what the copy of the stream that was read lacks, whose disk is
// harmed or which is late. None where no leader has one of them, or where there
// are more than mostLent.
func (l *Log) lent(ctx context.Context, id core.SessionID, after, upTo core.Pos) ([]*Lazy, error) {
	var found []*Lazy
	for at := upTo; at > after; {
		if len(found) == mostLent {
			return nil, nil
		}
		z, err := l.lazyAt(ctx, id, at)
		if isGone(err) && l.replaceLeader(ctx, l.Shard(id), at) {
			z, err = l.lazyAt(ctx, id, at)
		}
		if isGone(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, z)
		at = z.After
	}
	slices.Reverse(found)
	return found, nil
}

// isGone reports whether err says that a record is not there, or none any more.
func isGone(err error) bool {
	_, harmed := errors.AsType[*RecordError](err)
	return harmed || errors.Is(err, core.ErrNotFound)
}

// atAnyLeader is At for a record that must be there: a leader that lacks it has
// to give up.
func atAnyLeader(ctx context.Context, l core.Log, id core.SessionID, pos core.Pos) (*core.Record, error) {
	r, err := l.At(ctx, id, pos)
	on, ok := l.(*Log)
	if !ok || pos == 0 || !isGone(err) || !on.replaceLeader(ctx, on.Shard(id), pos) {
		return r, err
	}
	return l.At(ctx, id, pos)
}

// lend yields what lent returns. harmed says that the copy has later records, so
// it is not merely late. It reports whether its caller wants more.
func (l *Log) lend(ctx context.Context, id core.SessionID, after, upTo core.Pos, harmed bool, yield func(*Lazy, error) bool) bool {
	found, err := l.lent(ctx, id, after, upTo)
	if err != nil {
		yield(nil, fmt.Errorf("read session %s between %d and %d: %w", id, after, upTo, err))
		return false
	}
	for _, z := range found {
		z.Lent = harmed
		if !yield(z, nil) {
			return false
		}
	}
	if harmed {
		l.lentOut.Add(uint64(len(found)))
	}
	return true
}

// patientReads is how many reads may find nothing new before the leader is asked:
// a copy may be half a second late.
const patientReads = 20

// readUpTo is Read by somebody who knows that there is a record at upTo, and has
// read idle times already without finding any.
func readUpTo(ctx context.Context, l core.Log, id core.SessionID, after, upTo core.Pos, idle int) iter.Seq2[*core.Record, error] {
	if on, ok := l.(*Log); ok {
		return eager(ctx, on.scanUpTo(ctx, id, after, upTo, readBytes, idle))
	}
	return l.Read(ctx, id, after, upTo)
}

// scanUpTo is readUpTo that leaves bodies to be fetched.
func (l *Log) scanUpTo(ctx context.Context, id core.SessionID, after, upTo core.Pos, size, idle int) iter.Seq2[*Lazy, error] {
	if idle < patientReads {
		return l.scan(ctx, id, after, upTo, size)
	}
	return func(yield func(*Lazy, error) bool) { l.lend(ctx, id, after, upTo, false, yield) }
}
