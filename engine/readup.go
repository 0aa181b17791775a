package engine

import (
	"context"
	"iter"

	"github.com/sesslog/sesslog/core"
)

// atAnyLeader is At for a record that must exist: a leader that lacks it has to
// step down.
func atAnyLeader(ctx context.Context, l Log, id core.SessionID, pos core.Pos) (*core.Record, error) {
	r, err := l.At(ctx, id, pos)
	if pos == 0 || !core.IsGone(err) {
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
