package materializer

import (
	"context"
	"maps"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

// The row of a session that receives appends faster than that is not renewed for each
// of them. They are noted, and the next row is for all of them.

// note notes a record, and reports whether its session's row is due now. trace is that
// of the record, if it is traced.
func (m *Materializer) note(shard int, ch stream.Change, trace string) (due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.noted(shard, ch)
	if trace != "" {
		t.trace = trace
	}
	return ch.Kind != core.KindAppend || !time.Now().Before(t.rowDue)
}

// noted notes a record that is not in its session's row. m.mu is held.
func (m *Materializer) noted(shard int, ch stream.Change) *pendingWork {
	t := m.work[ch.Session]
	if t == nil {
		t = &pendingWork{since: time.Now()}
		m.work[ch.Session] = t
	}
	t.shard, t.last, t.changed = shard, ch, time.Now()
	if t.rowPending == 0 {
		m.rowPending[t] = true
		m.pendingIn[shard]++
	}
	if t.rowPending == 0 || ch.Pos < t.rowPending {
		t.rowPending = ch.Pos
	}
	return t
}

// rows renews pending rows and stores the shards' floors until ctx ends.
func (m *Materializer) rows(ctx context.Context) error {
	t := time.NewTicker(rowEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			for _, a := range m.dueRows(time.Now()) {
				if err := m.process(ctx, a.shard, a.ch); err != nil {
					m.retryRow(a.ch.Session)
				}
			}
			m.saveFloors()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A dueRow is the last record of a session whose row is pending.
type dueRow struct {
	shard int
	ch    stream.Change
}

// dueRows returns the pending rows that are due.
func (m *Materializer) dueRows(now time.Time) []dueRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []dueRow
	for t := range m.rowPending {
		if _, isDeferred := m.deferred[t.last.Session]; !isDeferred && !now.Before(t.rowDue) {
			due = append(due, dueRow{t.shard, t.last})
		}
	}
	return due
}

// retryRow postpones a row that cannot be made while the log does not answer.
func (m *Materializer) retryRow(id core.SessionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.work[id]; t != nil {
		t.rowDue = time.Now().Add(time.Second)
	}
}

// dropRow forgets that a row is pending. m.mu is held.
func (m *Materializer) dropRow(t *pendingWork) {
	if t.rowPending == 0 {
		return
	}
	t.rowPending = 0
	delete(m.rowPending, t)
	m.pendingIn[t.shard]--
}

// saveFloors tells the directory up to which record each shard is in the rows.
func (m *Materializer) saveFloors() {
	m.mu.Lock()
	defer m.mu.Unlock()
	floors := maps.Clone(m.seen)
	for t := range m.rowPending {
		if before := t.rowPending - 1; before < floors[t.shard].Pos {
			floors[t.shard] = Floor{Pos: before}
		}
	}
	for shard, f := range floors {
		m.cfg.Directory.SetFloor(shard, f)
	}
}
