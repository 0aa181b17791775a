package stream

import (
	"context"
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
func (l *Log) lent(ctx context.Context, id core.SessionID, after, upTo core.Pos) ([]*core.Lazy, error) {
	var found []*core.Lazy
	for at := upTo; at > after; {
		if len(found) == mostLent {
			return nil, nil
		}
		z, err := l.lazyAt(ctx, id, at)
		if core.IsGone(err) && l.replaceLeader(ctx, l.Shard(id), at) {
			z, err = l.lazyAt(ctx, id, at)
		}
		if core.IsGone(err) {
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

// lend yields what lent returns. harmed says that the copy has later records, so
// it is not merely late. It reports whether its caller wants more.
func (l *Log) lend(ctx context.Context, id core.SessionID, after, upTo core.Pos, harmed bool, yield func(*core.Lazy, error) bool) bool {
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
		l.backfilled.Add(uint64(len(found)))
	}
	return true
}

// ReadFromLeader implements engine.Log.
func (l *Log) ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return eager(ctx, l.scanUpTo(ctx, id, after, upTo, readBytes, patientReads))
}

// Backfilled implements engine.Log.
func (l *Log) Backfilled() uint64 { return l.backfilled.Load() }

// patientReads is how many reads of a replica may find nothing new before the
// leader is asked.
const patientReads = 20

// scanUpTo scans for a caller that knows of a record at upTo and has scanned idle
// times without finding any.
func (l *Log) scanUpTo(ctx context.Context, id core.SessionID, after, upTo core.Pos, size, idle int) iter.Seq2[*core.Lazy, error] {
	if idle < patientReads {
		return l.scan(ctx, id, after, upTo, size)
	}
	return func(yield func(*core.Lazy, error) bool) { l.lend(ctx, id, after, upTo, false, yield) }
}
