package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/sesslog/sesslog/core"
)

// Chained yields the records of read, which begins behind the session's record
// at after, as long as each follows the one before it. Strays are passed by. It
// ends with core.ErrLost where the log goes on from other records than those
// that were read: it has lost some, and who follows must start over.
func Chained(ctx context.Context, l core.Log, id core.SessionID, after core.Pos, read iter.Seq2[*core.Record, error]) iter.Seq2[*core.Record, error] {
	return chained(ctx, l, id, after, read, func(r *core.Record) (core.Record, core.Digest, error) {
		links := *r
		links.Body = nil
		return links, core.DigestOf(r.Body), nil
	})
}

// ChainedLazily is Chained for records without bodies.
func ChainedLazily(ctx context.Context, l *Log, id core.SessionID, after core.Pos, read iter.Seq2[*Lazy, error]) iter.Seq2[*Lazy, error] {
	return chained(ctx, l, id, after, read, func(z *Lazy) (core.Record, core.Digest, error) {
		sum, err := z.digest()
		return z.Record, sum, err
	})
}

// chained is both of them. links returns a record without its body, and the
// digest of that.
func chained[T any](ctx context.Context, l core.Log, id core.SessionID, after core.Pos, read iter.Seq2[*T, error],
	links func(*T) (core.Record, core.Digest, error),
) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		before, err := linkAt(ctx, l, id, after)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
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
			switch {
			case err != nil:
				t = nil
			case before == nil || before.Seq+1 == r.Seq && before.Chain.NextOf(&r, sum) == r.Chain:
				before, end = &r, &r
			case isBehind(ctx, l, id, end, &r):
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

// isBehind reports whether r was stored behind end, and end is still there.
func isBehind(ctx context.Context, l core.Log, id core.SessionID, end, r *core.Record) bool {
	if r.After != end.Pos {
		return false
	}
	now, err := linkAt(ctx, l, id, end.Pos)
	return err == nil && now.Chain == end.Chain
}
