package stream

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sesslog/sesslog/core"
)

// Truncated returns how many records the sessions of a shard have had before the
// first of theirs that is still there up to upTo: so many at most were dropped
// or forgotten on purpose.
func (l *Log) Truncated(ctx context.Context, shard int, upTo core.Pos) (uint64, error) {
	seen := map[core.SessionID]bool{}
	var passed uint64
	for m, err := range l.messages(ctx, shard, 0) {
		if err != nil {
			return 0, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return 0, fmt.Errorf("a message of shard %d without a sequence: %v: %w", shard, err, core.ErrCorrupt)
		}
		if id, err := sessionOf(m.Subject()); err == nil && !seen[id] {
			seen[id] = true
			if seq, err := strconv.ParseUint(m.Headers().Get(hdrSeq), 10, 64); err == nil && seq > 1 {
				passed += seq - 1
			}
		}
		if core.Pos(meta.Sequence.Stream) >= upTo || meta.NumPending == 0 {
			return passed, nil
		}
	}
	return passed, nil
}
