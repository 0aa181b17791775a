package engine

import (
	"context"
	"errors"
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

// predecessor returns the record at a position before r, or nil if it was truncated.
// One answer does not prove that: a leader that was cut off gives the same one for a
// record that it never had.
func (ss *Sessions) predecessor(ctx context.Context, r *core.Record, id core.SessionID, at core.Pos) (*core.Record, error) {
	log := ss.cfg.Log
	for try := 1; ; try++ {
		before, err := log.LinkAt(ctx, id, at)
		if !errors.Is(err, core.ErrNotFound) {
			return before, err
		}
		if at == 0 {
			return nil, nil
		}
		first, last, err := log.Range(ctx, id)
		switch {
		case err == nil && first > at:
			return nil, nil
		case try < maxLostReads && retry.Pause(ctx) == nil:
		case err == nil && last >= r.Pos: // it is missing for another reason
			return nil, nil
		default:
			return nil, fmt.Errorf("session %s: a server does not know of record %d, at %d: %w", id, r.Seq, r.Pos, core.ErrUnavailable)
		}
	}
}

// isTruncated reports whether the log has dropped r, which it had. A position of 0 stands
// for no record: none can be read.
func (ss *Sessions) isTruncated(ctx context.Context, id core.SessionID, r *core.Record) bool {
	if r.Pos == 0 {
		return false
	}
	first, _, err := ss.cfg.Log.Range(ctx, id)
	return err == nil && first > r.Pos
}

// Chained yields the records of read, which starts after the record at after, whose
// cursor is have, while each follows the previous one. It skips orphans. It ends
// with core.ErrLost if the log continues from other records than those that were
// read, or does not have the next one; the follower must then start over.
func Chained(ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*core.Record, error]) iter.Seq2[*core.Record, error] {
	return chained(ctx, l, id, after, have, read, func(r *core.Record) (core.Record, core.Digest, error) {
		links := *r
		links.Body = nil
		return links, core.DigestOf(r.Body), nil
	})
}

// ChainedLazily is Chained for records without bodies.
func ChainedLazily(ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*storage.Lazy, error]) iter.Seq2[*storage.Lazy, error] {
	return chained(ctx, l, id, after, have, read, func(z *storage.Lazy) (core.Record, core.Digest, error) {
		sum, err := z.Packed.Digest()
		return z.Record, sum, err
	})
}

// chained implements both. links returns a record without its body, and the digest
// of that.
func chained[T any](ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*T, error],
	links func(*T) (core.Record, core.Digest, error),
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		before, err := recordAt(ctx, l, id, after, have)
		if err != nil {
			yield(nil, err)
			return
		}
		end := before // including orphans
		for t, err := range read {
			var r core.Record
			var sum core.Digest
			if err == nil {
				r, sum, err = links(t)
			}
			if err == nil && before == nil && after != 0 { // it was lost, and may be replaced
				if before, err = recordAt(ctx, l, id, after, have); before != nil {
					end = before
				}
			}
			switch {
			case err != nil:
				t = nil
			case before == nil && (after == 0 || r.After == after),
				before != nil && before.Seq+1 == r.Seq && before.Chain.NextOf(&r, sum) == r.Chain:
				before, end = &r, &r
			case before == nil:
				t, err = nil, fmt.Errorf("session %s: the records between %d and %d are no longer in the log: %w", id, after, r.Pos, core.ErrLost)
			case followsOrphan(ctx, l, id, end, &r):
				end = &r
				continue
			default:
				t, err = nil, fmt.Errorf("session %s: the record at %d does not follow record %d: %w", id, r.Pos, before.Seq, core.ErrLost)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// recordAt returns the record at a follower's position, or nil if there is none. It
// returns core.ErrLost if it is not the one that the follower got.
func recordAt(ctx context.Context, l Log, id core.SessionID, at core.Pos, have core.Cursor) (*core.Record, error) {
	r, err := l.LinkAt(ctx, id, at)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	if err == nil && core.CursorOf(r.Seq, r.Chain) != have {
		return nil, fmt.Errorf("session %s has another record at %d than %s: %w", id, at, have, core.ErrLost)
	}
	return r, err
}

// followsOrphan reports whether r was stored after end, and end still exists.
func followsOrphan(ctx context.Context, l Log, id core.SessionID, end, r *core.Record) bool {
	if r.After != end.Pos {
		return false
	}
	now, err := l.LinkAt(ctx, id, end.Pos)
	return err == nil && now.Chain == end.Chain
}
