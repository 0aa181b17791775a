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
	return func(yield func(*core.Record, error) bool) {
		before, err := linkAt(ctx, l, id, after)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			yield(nil, err)
			return
		}
		end := before // strays included
		for r, err := range read {
			switch {
			case err != nil:
			case before == nil || before.Seq+1 == r.Seq && before.Chain.Next(r) == r.Chain:
				before, end = r, r
			case isBehind(ctx, l, id, end, r):
				end = r
				continue
			default:
				r, err = nil, fmt.Errorf("session %s goes on at %d from another record than %d: %w", id, r.Pos, before.Seq, core.ErrLost)
			}
			if !yield(r, err) || err != nil {
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
