package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
)

// Tails are the last records of a shard's sessions.
type Tails struct {
	// At is a position in the shard. Sessions covers at least every record up to it.
	At core.Pos
	// Strict means that a quorum of the servers confirmed At: every record that was
	// acknowledged before the call is before At. Otherwise only the shard's leader
	// confirmed it: the caller did not ask for more, or there was no space for a
	// barrier.
	Strict bool
	// Sessions are the last records of all sessions of the shard, sorted by session
	// id. They may be orphans.
	Sessions []Change
}

// Tails returns the last records of a shard's sessions. It reads one message of each
// session, without the body. With strict it stores a barrier first, if there is space
// for one.
func (l *Log) Tails(ctx context.Context, shard int, strict bool) (Tails, error) {
	at, strict, err := l.endOf(ctx, shard, strict)
	if err != nil || at == 0 {
		return Tails{Strict: strict}, err
	}
	last := map[core.SessionID]Change{}
	// A lagging replica delivers what it has and then each new message. It has
	// delivered everything up to at once a message at or after at arrives.
	for m, err := range l.lastMessages(ctx, shard) {
		if err != nil {
			return Tails{}, err
		}
		ch := change(m)
		if ch.Session != "" {
			last[ch.Session] = ch
		}
		if meta, err := m.Metadata(); err == nil && ch.Pos >= at && meta.NumPending == 0 {
			break
		}
	}
	tails := Tails{At: at, Strict: strict, Sessions: make([]Change, 0, len(last))}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		tails.Sessions = append(tails.Sessions, last[id])
	}
	return tails, nil
}

// endOf returns the position of the shard's last message, or 0 if it has none. proved
// is set if that is the position of a barrier, which it stores if prove is set and
// there is space for one.
func (l *Log) endOf(ctx context.Context, shard int, prove bool) (at core.Pos, proved bool, err error) {
	if prove && l.below(shard, barrierLimit, "barriers") == nil {
		at, err := l.barrier(ctx, shard, nats.Header{})
		if err != nil {
			return 0, false, fmt.Errorf("barrier in shard %d: %w", shard, err)
		}
		return at, true, nil
	}
	st, err := l.State(ctx, shard)
	if err != nil || st.Last < st.First {
		return 0, false, err
	}
	return st.Last, false, nil
}
