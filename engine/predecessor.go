package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

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
