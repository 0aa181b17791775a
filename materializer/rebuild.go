package materializer

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errRebuild ends the following of a shard that is to be rebuilt.
var errRebuild = errors.New("the shard is read again")

// Rebuild drops all that this node derived from the log, reads the log from its
// beginning, and returns when the directory has everything that was in the log, or
// with ctx's error. In that case reading continues. Rebuild changes neither the log
// nor the object store. Run must be running.
func (m *Materializer) Rebuild(ctx context.Context) error {
	for shard := range m.wake {
		if err := m.readAgain(ctx, shard); err != nil {
			return err
		}
	}
	return m.CatchUp(ctx)
}

// readAgain requests that a shard is read from its beginning, and returns when that
// begins.
func (m *Materializer) readAgain(ctx context.Context, shard int) error {
	m.mu.Lock()
	done := m.rebuilds[shard]
	if done == nil {
		done = make(chan struct{})
		m.rebuilds[shard] = done
	}
	m.mu.Unlock()
	select {
	case m.wake[shard] <- struct{}{}:
	default: // the follower is notified already
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shard %d cannot be read now: %w: %w", shard, ctx.Err(), core.ErrUnavailable)
	}
}

// restart drops the rows of a shard's sessions, if a rebuild was requested.
func (m *Materializer) restart(shard int) {
	m.mu.Lock()
	done := m.rebuilds[shard]
	delete(m.rebuilds, shard)
	if done != nil { // compare what is in memory with the log
		m.suspect[shard] = m.seen[shard].Pos
	}
	m.mu.Unlock()
	if done == nil {
		return
	}
	m.forgetShard(shard)
	close(done)
}

// forgetShard drops the rows of a shard's sessions, whose records are processed again.
func (m *Materializer) forgetShard(shard int) {
	m.advance(shard, Floor{})
	m.saveFloors() // before any row is gone
	m.cfg.Directory.ForgetIf(func(id core.SessionID) bool { return m.cfg.Log.Shard(id) == shard })
}
