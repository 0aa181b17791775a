package materializer

import (
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// Some of a session may be in an object store that does not answer. Its shard
// goes on without it: the session is passed by, and taken in when the store is
// back. Until then its row stays late, and with it the floor from which the
// next start reads.

// storeAway reports whether err is the object store's, not the log's.
func storeAway(err error) bool { return errors.Is(err, blobstore.ErrUnavailable) }

// An absent is a change of a session that could not be read.
type absent struct {
	shard int
	ch    stream.Change // the latest
}

// passBy leaves a session for later.
func (m *Materializer) passBy(shard int, ch stream.Change, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.absent[ch.Session]; !ok {
		m.cfg.Logger.Warn("session is passed by until the object store answers", "session", ch.Session, "err", err)
	}
	m.absent[ch.Session] = absent{shard, ch}
	t := m.tails[ch.Session]
	if t == nil {
		t = &tail{since: time.Now()}
		m.tails[ch.Session] = t
	}
	t.shard, t.changed, t.last, t.retry = shard, time.Now(), ch.Pos, time.Now().Add(retryAfter)
	if t.late == 0 {
		t.late = ch.Pos
		m.late[t] = true
	}
}

// isAbsent reports whether a session was passed by, and is.
func (m *Materializer) isAbsent(id core.SessionID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.absent[id]
	return ok
}

// comeBack takes in what was passed by, once the store answers.
func (m *Materializer) comeBack(ctx context.Context) error {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, a := range m.absentees() {
			if storeAway(m.fetch(ctx, a)) {
				break // the others would fare no better
			}
		}
	}
}

func (m *Materializer) absentees() []absent {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []absent
	for _, a := range m.absent {
		out = append(out, a)
	}
	return out
}

// fetch takes in a session that was passed by. Where it cannot be read for
// another reason it is named, and its row is late no more.
func (m *Materializer) fetch(ctx context.Context, a absent) error {
	s, err := m.cfg.Cache.Get(ctx, a.ch.Session)
	if err == nil {
		err = s.Refresh(ctx)
	}
	if ctx.Err() != nil || errors.Is(err, core.ErrUnavailable) {
		return err
	}
	m.mu.Lock()
	if m.absent[a.ch.Session] != a { // more has come meanwhile
		m.mu.Unlock()
		return nil
	}
	delete(m.absent, a.ch.Session)
	if t := m.tails[a.ch.Session]; t != nil && err != nil {
		t.late = 0
		delete(m.late, t)
	}
	m.mu.Unlock()
	if err != nil {
		m.unreadable(a.ch, err)
		return nil
	}
	m.update(ctx, a.shard, s, a.ch.Pos)
	return nil
}
