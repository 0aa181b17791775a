package stream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
)

// Tails says where the sessions of a shard end.
type Tails struct {
	// At is a place in the shard: each of Sessions ends there or behind it.
	At core.Pos
	// Strict says that a quorum of the log's servers stands for that: every record
	// that was acknowledged before the call lies before At. Without, the shard had
	// no room for a barrier, and its leader alone says so.
	Strict bool
	// Sessions are the last messages of all sessions of the shard, in the order of
	// their ids. Where a session ends with a stray, that is what is named.
	Sessions []Change
}

// Tails asks a shard for the ends of its sessions. It reads one message of each,
// without bodies.
func (l *Log) Tails(ctx context.Context, shard int) (Tails, error) {
	at, strict, err := l.endOf(ctx, shard)
	if err != nil || at == 0 {
		return Tails{Strict: strict}, err
	}
	last := map[core.SessionID]Change{}
	// A replica that lags delivers what it has, and then what comes: the message at
	// at, or one behind it, is the sign that it had all.
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
	ends := Tails{At: at, Strict: strict, Sessions: make([]Change, 0, len(last))}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		ends.Sessions = append(ends.Sessions, last[id])
	}
	return ends, nil
}

// endOf returns the place of a message that was the shard's last, 0 where it has
// none: that of a barrier, where there is room for one.
func (l *Log) endOf(ctx context.Context, shard int) (at core.Pos, strict bool, err error) {
	if err := l.below(shard, barrierLimit, "barriers"); err == nil {
		m := nats.NewMsg(barrierSubject(l.cfg.Name, shard))
		at, err := l.publish(ctx, m, []jetstream.PublishOpt{
			jetstream.WithExpectStream(streamName(l.cfg.Name, shard)),
			jetstream.WithRetryAttempts(0),
		})
		if errors.Is(err, core.ErrUncertain) { // a barrier that may be there does no harm
			err = fmt.Errorf("%v: %w", err, core.ErrUnavailable)
		}
		if err != nil {
			return 0, false, fmt.Errorf("barrier in shard %d: %w", shard, err)
		}
		l.stored(shard, m)
		return at, true, nil
	}
	st, err := l.State(ctx, shard)
	if err != nil || st.Last < st.First {
		return 0, false, err
	}
	return st.Last, false, nil
}

// Range implements engine.Log.
func (l *Log) Range(ctx context.Context, id core.SessionID) (first, last core.Pos, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.AckWait)
	defer cancel()
	st, err := l.State(ctx, l.Shard(id))
	return st.First, st.Last, err
}
