package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A holder tells what of the stream that a session lives in is there: from its
// first message to its last.
type holder interface {
	holds(ctx context.Context, id core.SessionID) (first, last core.Pos, err error)
}

func (l *Log) holds(ctx context.Context, id core.SessionID) (first, last core.Pos, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	st, err := l.State(ctx, l.Shard(id))
	return st.First, st.Last, err
}

// before returns the record at at, which lies before r, or nil where it was
// dropped with a prefix. That it was is not taken from an answer alone: a leader
// that was cut off lacks what it never had, and says the same of it.
func (ss *Sessions) before(ctx context.Context, r *core.Record, id core.SessionID, at core.Pos) (*core.Record, error) {
	log, ok := ss.cfg.Log.(holder)
	for try := 1; ; try++ {
		before, err := linkAt(ctx, ss.cfg.Log, id, at)
		if !errors.Is(err, core.ErrNotFound) {
			return before, err
		}
		if !ok || at == 0 {
			return nil, nil
		}
		first, last, err := log.holds(ctx, id)
		switch {
		case err == nil && first > at:
			return nil, nil
		case try < lostTries && pause(ctx) == nil:
		case err == nil && last >= r.Pos: // it is missing for another reason
			return nil, nil
		default:
			return nil, fmt.Errorf("session %s: a server does not know of record %d, at %d: %w", id, r.Seq, r.Pos, core.ErrUnavailable)
		}
	}
}
