package stream

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

// maxBackfill bounds the records that are read from the leader one by one.
const maxBackfill = readBatch

// fromLeader returns the session's records after position after up to the one at
// upTo, oldest first, from the leader. Each record names the position of the one
// before it. It returns nil if the leader lacks any of them, or if there are more
// than maxBackfill.
func (l *Log) fromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) ([]*storage.Lazy, error) {
	var found []*storage.Lazy
	for at := upTo; at > after; {
		if len(found) == maxBackfill {
			return nil, nil
		}
		z, err := l.lazyAt(ctx, id, at)
		if storage.IsGone(err) && l.replaceLeader(ctx, l.Shard(id), at) {
			z, err = l.lazyAt(ctx, id, at)
		}
		if storage.IsGone(err) {
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

// backfill yields what fromLeader returns. corrupt says that the replica has later
// records, so it is corrupt and not only lagging. It reports whether the caller wants
// more.
func (l *Log) backfill(ctx context.Context, id core.SessionID, after, upTo core.Pos, corrupt bool, yield func(*storage.Lazy, error) bool) bool {
	found, err := l.fromLeader(ctx, id, after, upTo)
	if err != nil {
		yield(nil, fmt.Errorf("read session %s between %d and %d: %w", id, after, upTo, err))
		return false
	}
	for _, z := range found {
		z.Backfilled = corrupt
		if !yield(z, nil) {
			return false
		}
	}
	if corrupt {
		l.backfilled.Add(uint64(len(found)))
	}
	return true
}

// ReadFromLeader implements engine.Log.
func (l *Log) ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return eager(ctx, l.scanUpTo(ctx, id, after, upTo, readBytes, maxIdleReads))
}

// Backfilled implements engine.Log.
func (l *Log) Backfilled() uint64 { return l.backfilled.Load() }

// maxIdleReads is how many reads from a replica may return nothing new before the
// leader is read.
const maxIdleReads = 20

// scanUpTo scans for a caller that knows of a record at upTo. idle is the number of
// its last scans that yielded nothing.
func (l *Log) scanUpTo(ctx context.Context, id core.SessionID, after, upTo core.Pos, size, idle int) iter.Seq2[*storage.Lazy, error] {
	if idle < maxIdleReads {
		return l.scan(ctx, id, after, upTo, size)
	}
	return func(yield func(*storage.Lazy, error) bool) { l.backfill(ctx, id, after, upTo, false, yield) }
}
