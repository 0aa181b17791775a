package materializer

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// If a part of a session is in an object store that does not answer, its shard
// continues without it: the session is deferred until the store answers. Until then
// its row is pending, and the shard's floor stays before the record.

// storeUnavailable reports whether err is an error of the object store, not of the
// log.
func storeUnavailable(err error) bool { return errors.Is(err, blobstore.ErrUnavailable) }

// A deferred is a change of a session that could not be read.
type deferred struct {
	shard int
	ch    stream.Change // the latest
}

// deferChange defers a changed session.
func (m *Materializer) deferChange(shard int, ch stream.Change, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.deferred[ch.Session]; !ok {
		m.cfg.Logger.Warn("session is deferred until the object store answers", "session", ch.Session, "err", err)
	}
	m.deferred[ch.Session] = deferred{shard, ch}
	m.noted(shard, ch).retry = time.Now().Add(retryAfter)
}

// isDeferred reports whether a session is deferred.
func (m *Materializer) isDeferred(id core.SessionID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.deferred[id]
	return ok
}

// retryDeferred processes deferred sessions once the store answers.
func (m *Materializer) retryDeferred(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, a := range m.deferredChanges() {
			if storeUnavailable(m.fetch(ctx, a)) {
				break // the others would fail, too
			}
		}
	}
}

func (m *Materializer) deferredChanges() []deferred {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []deferred
	for _, a := range m.deferred {
		out = append(out, a)
	}
	return out
}

// fetch processes a deferred session. If it cannot be read for another reason, it
// is logged and its row is no longer pending.
func (m *Materializer) fetch(ctx context.Context, a deferred) error {
	s, err := m.cfg.Cache.Get(ctx, a.ch.Session)
	if err == nil {
		err = s.Refresh(ctx)
	}
	if ctx.Err() != nil || errors.Is(err, core.ErrUnavailable) {
		return err
	}
	m.mu.Lock()
	if m.deferred[a.ch.Session] != a { // another record came meanwhile
		m.mu.Unlock()
		return nil
	}
	delete(m.deferred, a.ch.Session)
	m.mu.Unlock()
	if errors.Is(err, core.ErrDeleted) {
		m.markDeleted(a.ch.Session, a.ch.Seq)
		return nil
	}
	if err != nil {
		m.unreadable(a.ch, err)
		return nil
	}
	if err := m.renew(ctx, s, a.ch); err != nil {
		return err
	}
	m.consider(s, 0)
	return nil
}
