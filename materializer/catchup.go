package materializer

import (
	"context"
	"errors"
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
	close(m.moved)
	m.moved = make(chan struct{})
}

func (m *Materializer) floor(shard int) Floor {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen[shard]
}

func (m *Materializer) advance(shard int, seen Floor) {
	m.mu.Lock()
	m.seen[shard], m.past[shard] = seen, seen.Pos
	close(m.moved)
	m.moved = make(chan struct{})
	floor := seen
	for t := range m.rowPending {
		if t.shard == shard && t.rowPending-1 < floor.Pos {
			floor = Floor{Pos: t.rowPending - 1}
		}
	}
	m.mu.Unlock()
	m.cfg.Directory.SetFloor(shard, floor)
}

// CatchUp returns when every record that was in the log at the time of the call is
// in the rows, or with ctx's error.
func (m *Materializer) CatchUp(ctx context.Context) error {
	for shard := range m.cfg.Log.Shards() {
		st, err := m.cfg.Log.State(ctx, shard)
		if err != nil {
			return err
		}
		if st.Lag(m.Past(shard)) == 0 {
			continue
		}
		if err := m.waitFor(ctx, shard, st.Last); err != nil {
			return err
		}
	}
	for _, id := range m.pendingRows() {
		if m.isDeferred(id) {
			return fmt.Errorf("session %s is deferred because the object store does not answer: %w", id, core.ErrUnavailable)
		}
		s, err := m.cfg.Cache.Get(ctx, id)
		if errors.Is(err, core.ErrDeleted) {
			continue // it is about to be marked deleted
		}
		if err != nil {
			return err
		}
		m.renew(s)
	}
	m.cfg.Directory.Sync(ctx)
	return nil
}

// Behind returns an upper bound for the number of sessions with changes that are not
// in the directory yet. A shard that does not answer counts as one.
func (m *Materializer) Behind(ctx context.Context) int {
	n := len(m.pendingRows())
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
func (m *Materializer) pendingRows() []core.SessionID {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []core.SessionID
	for id, t := range m.work {
		if m.rowPending[t] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *Materializer) waitFor(ctx context.Context, shard int, pos core.Pos) error {
	for {
		m.mu.Lock()
		done, moved := m.seen[shard].Pos >= pos || m.past[shard] >= pos, m.moved
		m.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("shard %d is processed up to %d, its end is %d: %w", shard, m.Seen(shard), pos, ctx.Err())
		}
	}
}
