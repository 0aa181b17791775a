package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
)

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
