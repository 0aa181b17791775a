package materializer

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// A pendingWork is what is left to do for a session.
type pendingWork struct {
	shard      int
	trace      string    // of the last processed record that has a trace
	since      time.Time // about when its first record that no snapshot covers came
	changed    time.Time
	rowDue     time.Time     // its row is not made again before then, to bound the cost
	rowPending core.Pos      // the first record that is not in its row; 0 if there is none
	last       stream.Change // the last record seen
	busy       bool          // a checkpoint is queued or running
	retry      time.Time     // no checkpoint before then, because one failed
}

// Waiting returns how many sessions of the owned shards have records that no
// snapshot covers yet, and since when the oldest of them waits, by this node's
// clock. The time is zero if there are none.
func (m *Materializer) Waiting() (sessions int, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.work {
		if !m.owns(t.shard) {
			continue
		}
		sessions++
		if since.IsZero() || t.since.Before(since) {
			since = t.since
		}
	}
	return sessions, since
}

// sweep handles idle sessions, and trims the cache, once a second.
func (m *Materializer) sweep(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			m.sweepOnce(ctx)
			m.cfg.Cache.shrink()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Materializer) sweepOnce(ctx context.Context) {
	now := time.Now()
	for id, idle := range m.dueWork(now) {
		if m.isDeferred(id) {
			continue
		}
		s, err := m.cfg.Cache.Get(ctx, id)
		if err != nil {
			m.putOff(id, err) // take has logged it, or will
			continue
		}
		m.consider(s, idle)
		m.forget(s)
	}
}

// putOff leaves a session that cannot be read alone for a while, and forgets it if
// it was erased.
func (m *Materializer) putOff(id core.SessionID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[id]
	if t == nil {
		return
	}
	t.retry = time.Now().Add(retryAfter)
	if errors.Is(err, core.ErrDeleted) && !t.busy {
		m.dropRow(t)
		delete(m.work, id)
	}
}

// dueWork returns idle sessions of owned shards, with how long each was idle. Idle sessions of other nodes are forgotten;
// a node that takes over a shard finds them by their rows.
func (m *Materializer) dueWork(now time.Time) map[core.SessionID]time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[core.SessionID]time.Duration{}
	for id, t := range m.work {
		idle := now.Sub(t.changed)
		switch {
		case idle < m.cfg.Policy.Idle || t.rowPending != 0 || t.busy || now.Before(t.retry):
		case m.owns(t.shard):
			out[id] = idle
		default:
			delete(m.work, id)
		}
	}
	return out
}

// forget drops a session for which nothing is left to do.
func (m *Materializer) forget(s *engine.Session) {
	left := true
	_ = s.View(func(st *core.State) error {
		left = m.cfg.Policy.due(st, m.cfg.Policy.Idle)
		return nil
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.work[s.ID()]; t != nil && !left && !t.busy && t.rowPending == 0 {
		delete(m.work, s.ID())
	}
}
