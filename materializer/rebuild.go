package materializer

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errRebuild ends the following of a shard that is to be read anew.
var errRebuild = errors.New("the shard is read anew")

// Rebuild drops all that this node derived from the log, reads the log from its
// beginning, and returns when the directory has everything that was in the log, or
// with ctx's error. In that case reading continues. Rebuild changes neither the log
// nor the object store. Run must be running.
func (m *Materializer) Rebuild(ctx context.Context) error {
	for shard := range m.again {
		if err := m.readAnew(ctx, shard); err != nil {
			return err
		}
	}
	return m.CatchUp(ctx)
}

// readAnew has a shard read from its beginning, and returns when that begins.
func (m *Materializer) readAnew(ctx context.Context, shard int) error {
	m.mu.Lock()
	done := m.asked[shard]
	if done == nil {
		done = make(chan struct{})
		m.asked[shard] = done
	}
	m.mu.Unlock()
	select {
	case m.again[shard] <- struct{}{}:
	default: // whoever follows the shard is told already
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shard %d cannot be read now: %w: %w", shard, ctx.Err(), core.ErrUnavailable)
	}
}

// restart forgets what is known of a shard's sessions, if that was asked for.
func (m *Materializer) restart(shard int) {
	m.mu.Lock()
	done := m.asked[shard]
	delete(m.asked, shard)
	if done != nil { // what is in memory is not to be believed in without the log
		m.doubt[shard] = m.seen[shard].Pos
	}
	m.mu.Unlock()
	if done == nil {
		return
	}
	m.cfg.Directory.ForgetIf(func(id core.SessionID) bool { return m.cfg.Log.Shard(id) == shard })
	m.advance(shard, Floor{})
	close(done)
}
