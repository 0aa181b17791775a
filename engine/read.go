package engine

import (
	"context"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// ReadTo yields the session's records after a position up to end, where the log has
// a record. It retries a replica that lags until ctx ends, which is
// core.ErrUnavailable. An error is yielded once, last, with a nil record.
func ReadTo(ctx context.Context, log core.Log, id core.SessionID, after, end core.Pos) iter.Seq2[*core.Record, error] {
	read := func(after core.Pos) iter.Seq2[*core.Record, error] { return log.Read(ctx, id, after, end) }
	return readUntil(ctx, id, after, end, read, func(r *core.Record) core.Pos { return r.Pos })
}

// ScanTo is ReadTo without bodies.
func ScanTo(ctx context.Context, log Log, id core.SessionID, after, end core.Pos) iter.Seq2[*storage.Lazy, error] {
	scan := func(after core.Pos) iter.Seq2[*storage.Lazy, error] { return log.Scan(ctx, id, after, end) }
	return readUntil(ctx, id, after, end, scan, func(z *storage.Lazy) core.Pos { return z.Pos })
}

func readUntil[R any](ctx context.Context, id core.SessionID, after, end core.Pos, read func(core.Pos) iter.Seq2[R, error], pos func(R) core.Pos) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for after < end {
			before := after
			for r, err := range read(before) {
				if err == nil {
					after = pos(r)
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
			if after == before && retry.Pause(ctx) != nil {
				var none R
				yield(none, fmt.Errorf("session %s: records after %d cannot be read: %w", id, before, core.ErrUnavailable))
				return
			}
		}
	}
}

// atAnyLeader is At for a record that must exist: a leader that lacks it has to
// step down.
func atAnyLeader(ctx context.Context, l Log, id core.SessionID, pos core.Pos) (*core.Record, error) {
	r, err := l.At(ctx, id, pos)
	if pos == 0 || !storage.IsGone(err) {
		return r, err
	}
	for r, err := range l.ReadFromLeader(ctx, id, pos-1, pos) {
		return r, err
	}
	return nil, err
}

// idleReads is how many reads may find nothing new before the leader is asked: a
// replica may lag by half a second.
const idleReads = 20

// readUpTo is Read for a caller that knows of a record at upTo and has read idle
// times without finding any.
func readUpTo(ctx context.Context, l Log, id core.SessionID, after, upTo core.Pos, idle int) iter.Seq2[*core.Record, error] {
	if idle < idleReads {
		return l.Read(ctx, id, after, upTo)
	}
	return l.ReadFromLeader(ctx, id, after, upTo)
}
