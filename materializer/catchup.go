package materializer

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Seen returns the position of the last processed record of a shard.
func (m *Materializer) Seen(shard int) core.Pos { return m.floor(shard).Pos }

// Past returns up to where a shard was read, whether records are there or not.
func (m *Materializer) Past(shard int) core.Pos {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.past[shard], m.seen[shard].Pos)
}

// pass notes that a shard was read up to pos.
func (m *Materializer) pass(shard int, pos core.Pos) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.past[shard] = pos
	m.announce()
}

func (m *Materializer) floor(shard int) Floor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[shard]
}

// advance notes that the records of a shard up to seen are processed.
func (m *Materializer) advance(shard int, seen Floor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[shard], m.past[shard] = seen, seen.Pos
	m.announce()
	if m.pendingIn[shard] == 0 {
		m.cfg.Directory.SetFloor(shard, seen)
	} // else saveFloors does it: many rows may be pending
}

// announce wakes the callers of waitFor. m.mu is held.
func (m *Materializer) announce() {
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

// CatchUp returns when every record that was in the log at the time of the call is
// in the rows, or with ctx's error.
func (m *Materializer) CatchUp(ctx context.Context) error {
	if err := m.followed(ctx); err != nil {
		return err
	}
	for _, a := range m.pendingRows() {
		if m.isDeferred(a.ch.Session) {
			return fmt.Errorf("session %s is deferred because the object store does not answer: %w", a.ch.Session, core.ErrUnavailable)
		}
		if err := m.process(ctx, a.shard, a.ch); err != nil {
			return err
		}
	}
	m.saveFloors()
	m.cfg.Directory.Sync(ctx)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the directory still writes %d sessions: %w: %w", m.cfg.Directory.Pending(), err, core.ErrUnavailable)
	}
	return nil
}

// Behind returns an upper bound for the number of sessions with changes that are not
// in the directory yet. A shard that does not answer counts as one.
func (m *Materializer) Behind(ctx context.Context) int {
	n := len(m.pendingRows()) + m.cfg.Directory.Pending()
	for shard := range m.cfg.Log.Shards() {
		st, err := m.cfg.Log.State(ctx, shard)
		if err != nil {
			n++
			continue
		}
		n += int(min(st.Lag(m.Past(shard)), st.Sessions))
	}
	return n
}

// pendingRows returns the sessions whose row is pending.
func (m *Materializer) pendingRows() []dueRow {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []dueRow
	for t := range m.rowPending {
		all = append(all, dueRow{t.shard, t.last})
	}
	return all
}

func (m *Materializer) waitFor(ctx context.Context, shard int, pos core.Pos) error {
	for {
		m.mu.Lock()
		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		done, moved := m.seen[shard].Pos >= pos || m.past[shard] >= pos, m.moved
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("shard %d: processed up to sequence %d, the last is %d: %w", shard, m.Seen(shard), pos, ctx.Err())
		}
	}
}
