package materializer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/internal/spans"
	"github.com/sesslog/sesslog/session/catalog"
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
		if err := retry.Wait(ctx, time.Second); err != nil {
			return err
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
			continue
		}
		m.pass(shard, ch.Pos)
	}
	return nil
}

// take processes a changed session, or notes that it is due later if its row is
// renewed too often. If memory has another record in its place, the log has lost one of
// the two, and the row may be of either.
func (m *Materializer) take(ctx context.Context, shard int, ch stream.Change) error {
	diverged := m.cfg.Cache.contradicts(ch)
	switch {
	case diverged:
		m.cfg.Directory.Forget(ch.Session)
	case m.cfg.Directory.Seq(ch.Session) >= ch.Seq:
		return nil
	}
	if m.isDeferred(ch.Session) {
		m.deferChange(shard, ch, nil)
		return nil
	}
	if due := m.note(shard, ch, spans.Text(ctx)); !due && !diverged {
		return nil
	}
	return m.process(ctx, shard, ch)
}

// process brings a session that was noted, and its row, up to date. A session that cannot be
// read is logged and skipped, so that it does not stop the node.
func (m *Materializer) process(ctx context.Context, shard int, ch stream.Change) error {
	s, err := m.open(ctx, ch.Session)
	switch {
	case err != nil:
	case m.isSuspect(shard, ch.Pos), s.Contradicts(ch.Seq, ch.Chain):
		err = s.Refresh(ctx)
	case s.Cursor().Seq < ch.Seq:
		err = s.RefreshTo(ctx, ch.Seq, ch.Pos)
	}
	switch {
	case errors.Is(err, core.ErrDeleted), err == nil && s.Erased(): // a session in the trash can be read
		m.markDeleted(ch.Session, ch.Seq)
		return nil
	case err == nil:
		if err := m.renew(ctx, s, ch); err != nil {
			return err
		}
		m.consider(s, 0)
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

// leaderLag is how long open waits for a leader that lags.
const leaderLag = 2 * time.Second

// open opens a session that has a record. This node's server may have the record a
// moment before the leader, from which sessions are read.
func (m *Materializer) open(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	for began := time.Now(); ; {
		s, err := m.cfg.Cache.Get(ctx, id)
		if !errors.Is(err, core.ErrNotFound) || time.Since(began) > leaderLag {
			return s, err
		}
		if err := retry.Wait(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (m *Materializer) unreadable(ch stream.Change, err error) {
	m.cfg.Logger.Error("session cannot be read; check it with: sessctl verify "+string(ch.Session),
		"session", ch.Session, "pos", ch.Pos, "err", err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.work[ch.Session]; t != nil {
		m.dropRow(t)
		if !t.busy {
			delete(m.work, ch.Session)
		}
	}
}

// rowEvery is the least time between two rows of a session. A row that took long is
// made again only after twenty times as long. otherRowEvery is that of a session whose
// shard another node owns: its records are read from the log, which costs less for many
// at once.
const (
	rowEvery      = time.Second
	otherRowEvery = 5 * time.Second
)

// renew makes a session's row, after its last record ch was noted.
func (m *Materializer) renew(ctx context.Context, s *engine.Session, ch stream.Change) error {
	start := time.Now()
	var at core.Pos
	var v View
	rows := m.cfg.Cache.rowsOf(s)
	_ = s.View(func(st *core.State) error {
		v, at = rows.view(st), st.Pos
		return nil
	})
	if err := m.report(ctx, rows, &v.Row); err != nil {
		return err
	}
	m.cfg.Directory.Put(v)
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.work[s.ID()]
	if t == nil {
		return nil
	}
	every := rowEvery
	if !m.owns(t.shard) {
		every = otherRowEvery
	}
	t.rowDue = time.Now().Add(max(every, 20*time.Since(start)))
	if t.last != ch && t.last.Pos > at { // another record came meanwhile
		t.rowPending = at + 1
		return nil
	}
	m.dropRow(t)
	return nil
}

// report tells Config.Changed of a row before it replaces the last one. A crash in
// between repeats the report.
func (m *Materializer) report(ctx context.Context, rows *rowMaker, now *catalog.Row) error {
	if m.cfg.Changed == nil {
		return nil
	}
	rows.mu.Lock()
	last := rows.reported
	rows.reported = now
	rows.mu.Unlock()
	before := last
	if before == nil {
		before = &catalog.Row{ID: now.ID}
		if m.cfg.Directory.Seq(now.ID) > 0 {
			if row, ok, err := m.cfg.Directory.Row(ctx, now.ID); ok && err == nil {
				before = &row
			}
		}
	}
	err := m.cfg.Changed(ctx, before, now)
	if err != nil {
		rows.mu.Lock()
		rows.reported = last
		rows.mu.Unlock()
	}
	return err
}
