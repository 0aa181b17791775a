package materializer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/stream"
)

// follow processes a shard's records, and continues where it was when the stream
// breaks.
func (m *Materializer) follow(ctx context.Context, shard int) error {
	for {
		err := m.followOnce(ctx, shard)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.restart(shard)
		if errors.Is(err, errRebuild) {
			continue
		}
		m.cfg.Logger.Warn("shard cannot be followed; retrying", "shard", shard, "err", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Materializer) followOnce(ctx context.Context, shard int) error {
	if err := m.check(ctx, shard); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.tasks.Go(func() { m.watchLoss(ctx, cancel, shard) })
	for ch, err := range m.cfg.Log.Watch(ctx, shard, m.Seen(shard)) {
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		if ch.Session != "" {
			if err := m.takeTraced(ctx, shard, ch); err != nil {
				return err
			}
			m.advance(shard, Floor{ch.Pos, ch.Chain})
		}
		m.pass(shard, ch.Pos)
	}
	return nil
}

// take processes a changed session. A session that cannot be read is logged and
// skipped, so that it does not stop the node.
func (m *Materializer) take(ctx context.Context, shard int, ch stream.Change) error {
	if m.cfg.Directory.Seq(ch.Session) >= ch.Seq {
		return nil
	}
	if m.isDeferred(ch.Session) {
		m.deferChange(shard, ch, nil)
		return nil
	}
	s, err := m.cfg.Cache.Get(ctx, ch.Session)
	if err == nil && (seqOf(s) < ch.Seq || m.isSuspect(shard, ch.Pos)) {
		err = s.Refresh(ctx)
	}
	switch {
	case errors.Is(err, core.ErrDeleted), err == nil && isErased(s): // a session in the trash can be read
		m.markDeleted(ch.Session, ch.Seq)
		return nil
	case err == nil:
		m.update(ctx, shard, s, ch.Pos)
		return nil
	case ctx.Err() == nil && storeUnavailable(err):
		m.deferChange(shard, ch, err)
		return nil
	case ctx.Err() != nil, errors.Is(err, core.ErrUnavailable):
		return err // the log failed, not the session
	}
	m.unreadable(ch, err)
	return nil
}

func (m *Materializer) unreadable(ch stream.Change, err error) {
	m.cfg.Logger.Error("session cannot be read; check it with: sessctl verify "+string(ch.Session),
		"session", ch.Session, "pos", ch.Pos, "err", err)
}

// update renews a session's row and schedules its snapshot. The row of a long
// session takes a while to make, so it is made again only after twenty times as
// long.
func (m *Materializer) update(ctx context.Context, shard int, s *engine.Session, pos core.Pos) {
	now := time.Now()
	m.mu.Lock()
	t := m.work[s.ID()]
	if t == nil {
		t = &pendingWork{since: now}
		m.work[s.ID()] = t
	}
	t.shard, t.changed, t.last = shard, now, pos
	if text := spans.Text(ctx); text != "" {
		t.trace = text
	}
	if t.rowPending == 0 {
		t.rowPending = pos
		m.rowPending[t] = true
	}
	due := !now.Before(t.rowDue)
	m.mu.Unlock()
	if due {
		m.renew(s)
	}
	m.consider(ctx, s, 0)
}

// renew makes a session's row.
func (m *Materializer) renew(s *engine.Session) {
	start := time.Now()
	var at core.Pos
	var v View
	rows := m.cfg.Cache.rowsOf(s)
	_ = s.View(func(st *core.State) error {
		v, at = rows.view(st), st.Pos
		return nil
	})
	m.cfg.Directory.Put(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[s.ID()]
	if t == nil {
		return
	}
	t.rowDue = time.Now().Add(20 * time.Since(start))
	if t.last > at { // another record came meanwhile
		t.rowPending = at + 1
		return
	}
	t.rowPending = 0
	delete(m.rowPending, t)
}

// seqOf returns the seq of s in memory.
func seqOf(s *engine.Session) (seq uint64) {
	_ = s.View(func(st *core.State) error {
		seq = st.Seq
		return nil
	})
	return seq
}
