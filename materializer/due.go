package materializer

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/spans"
)

// A dueSession is a session that is to get a snapshot. It is named and not held:
// when many are due at once, as when a fleet falls idle, those that wait take no
// room but that of the cache.
type dueSession struct {
	id    core.SessionID
	idle  time.Duration // for how long it was left alone
	trace string        // of what brought it about, where somebody keeps that
}

// dueSessions are those that wait, the first come first. Each is there once: its
// tail is busy.
type dueSessions struct {
	mu    sync.Mutex
	queue []dueSession
	some  chan struct{} // has one while there may be any
}

func newDueSessions() *dueSessions { return &dueSessions{some: make(chan struct{}, 1)} }

func (d *dueSessions) add(one dueSession) {
	d.mu.Lock()
	d.queue = append(d.queue, one)
	d.mu.Unlock()
	d.tell()
}

// tell wakes one who waits.
func (d *dueSessions) tell() {
	select {
	case d.some <- struct{}{}:
	default:
	}
}

// next waits for one, and takes it.
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
		d.tell()
	}
	return one, true
}

// enqueue has a session wait, after a while at random where nobody knows who else
// is at work.
func (m *Materializer) enqueue(one dueSession) {
	if m.cfg.Spread == 0 || m.crewKnown.Load() {
		m.due.add(one)
		return
	}
	time.AfterFunc(rand.N(m.cfg.Spread), func() { m.due.add(one) })
}

// write writes snapshots of the sessions that are due, one after another, until
// ctx ends.
func (m *Materializer) write(ctx context.Context) error {
	for {
		one, err := m.due.next(ctx)
		if err != nil {
			return err
		}
		if !m.isStillDue(one.id) {
			continue
		}
		err = m.checkpoint(spans.With(ctx, one.trace), one.id, one.idle)
		m.done(one.id, err)
		if err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("snapshot not written; the session stays in the log as it is", "session", one.id, "err", err)
		}
	}
}

// isStillDue reports whether a session that has waited is still there, and this
// node's to look after.
func (m *Materializer) isStillDue(id core.SessionID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tails[id]
	if t == nil {
		return false
	}
	t.busy = m.owns(t.shard)
	return t.busy
}

// done notes that a session's turn is over.
func (m *Materializer) done(id core.SessionID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tails[id]
	if t == nil {
		return
	}
	t.busy = false
	if err != nil {
		t.retry = time.Now().Add(retryAfter)
	}
}
