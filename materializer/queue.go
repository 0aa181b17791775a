package materializer

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// A dueSession is a session that needs a snapshot. It is only named: when a fleet
// falls idle at once, queued sessions take no memory beyond the cache.
type dueSession struct {
	id    core.SessionID
	idle  time.Duration // how long it was idle
	trace string        // of the record that caused it, if it is traced
	// orphans is set if it has any. Then every node writes the snapshot, not only the owner.
	orphans bool
}

// dueSessions is a queue, first in first out. Each session is in it once, because
// its work is busy.
type dueSessions struct {
	mu    sync.Mutex
	queue []dueSession
	some  chan struct{} // has an element while the queue may have one
}

func newDueSessions() *dueSessions { return &dueSessions{some: make(chan struct{}, 1)} }

func (d *dueSessions) add(one dueSession) {
	d.mu.Lock()
	d.queue = append(d.queue, one)
	d.mu.Unlock()
	d.signal()
}

// signal wakes a waiting worker.
func (d *dueSessions) signal() {
	select {
	case d.some <- struct{}{}:
	default:
	}
}

// next waits for a session and takes it from the queue.
func (d *dueSessions) next(ctx context.Context) (dueSession, error) {
	for {
		select {
		case <-d.some:
		case <-ctx.Done():
			return dueSession{}, ctx.Err()
		}
		if one, ok := d.take(); ok {
			return one, nil
		}
	}
}

func (d *dueSessions) take() (one dueSession, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return one, false
	}
	one, d.queue = d.queue[0], d.queue[1:]
	if len(d.queue) > 0 {
		d.signal()
	}
	return one, true
}

// enqueue queues a session, after a random delay if the other nodes are unknown.
func (m *Materializer) enqueue(one dueSession) {
	if m.cfg.Spread == 0 || m.membersKnown.Load() {
		m.due.add(one)
		return
	}
	time.AfterFunc(rand.N(m.cfg.Spread), func() { m.due.add(one) })
}

// write writes snapshots of due sessions, one after another, until ctx ends.
func (m *Materializer) write(ctx context.Context) error {
	for {
		one, err := m.due.next(ctx)
		if err != nil {
			return err
		}
		if !m.isStillDue(one) {
			continue
		}
		err = m.checkpoint(spans.With(ctx, one.trace), one.id, one.idle)
		m.done(one.id, err)
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("snapshot not written; the records stay in the log", "session", one.id, "err", err)
		}
	}
}

// isStillDue reports whether a queued session still has work for this node.
func (m *Materializer) isStillDue(one dueSession) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[one.id]
	if t == nil {
		return false
	}
	t.busy = one.orphans || m.owns(t.shard)
	return t.busy
}

// done notes the end of an attempt.
func (m *Materializer) done(id core.SessionID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[id]
	if t == nil {
		return
	}
	t.busy = false
	if err != nil {
		t.retry = time.Now().Add(retryAfter)
	}
}
