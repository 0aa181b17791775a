package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
)

// Chained yields the records of read, which begins behind the session's record
// at after, whose cursor is have, as long as each follows the one before it.
// Strays are passed by. It ends with core.ErrLost where the log goes on from other
// records than those that were read, or does not hold the next one: it has lost
// some, or dropped them with a prefix, and who follows must start over.
func Chained(ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*core.Record, error]) iter.Seq2[*core.Record, error] {
	return chained(ctx, l, id, after, have, read, func(r *core.Record) (core.Record, core.Digest, error) {
		links := *r
		links.Body = nil
		return links, core.DigestOf(r.Body), nil
	})
}

// ChainedLazily is Chained for records without bodies.
func ChainedLazily(ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*core.Lazy, error]) iter.Seq2[*core.Lazy, error] {
	return chained(ctx, l, id, after, have, read, func(z *core.Lazy) (core.Record, core.Digest, error) {
		sum, err := z.Packed.Digest()
		return z.Record, sum, err
	})
}

// chained is both of them. links returns a record without its body, and the
// digest of that.
func chained[T any](ctx context.Context, l Log, id core.SessionID, after core.Pos, have core.Cursor, read iter.Seq2[*T, error],
	links func(*T) (core.Record, core.Digest, error),
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		before, err := recordAt(ctx, l, id, after, have)
		if err != nil {
			yield(nil, err)
			return
		}
		end := before // strays included
		for t, err := range read {
			var r core.Record
			var sum core.Digest
			if err == nil {
				r, sum, err = links(t)
			}
			if err == nil && before == nil && after != 0 { // it was lost, and may be another's by now
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
				t, err = nil, fmt.Errorf("session %s goes on at %d from another record than %d: %w", id, r.Pos, before.Seq, core.ErrLost)
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// placeOf returns the record at a follower's place, or nil where there is none.
// core.ErrLost when it is another than the one that the follower was given.
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

// isBehind reports whether r was stored behind end, and end is still there.
func followsOrphan(ctx context.Context, l Log, id core.SessionID, end, r *core.Record) bool {
	if r.After != end.Pos {
		return false
	}
	now, err := l.LinkAt(ctx, id, end.Pos)
	return err == nil && now.Chain == end.Chain
}
