package materializer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// lossEvery is how often a follower checks that its shard still has the last
// processed record.
const lossEvery = 5 * time.Second

// errRewound ends the following of a shard that lost records.
var errRewound = errors.New("the shard lost records that were processed; reading it again")

// errRemade ends the following of a shard whose rows are gone.
var errRemade = errors.New("the directory was rebuilt; reading the shard from its beginning")

// check compares a shard with what was processed of it. If the log lost its end,
// rows may be of lost records: the losses that they prove are noted, the rows of the
// shard's sessions are dropped, and the shard is read again.
func (m *Materializer) check(ctx context.Context, shard int) error {
	lost, err := m.lost(ctx, shard)
	if err != nil {
		return err
	}
	if m.cfg.Directory.Lost(shard) {
		m.advance(shard, Floor{})
		m.cfg.Directory.Restart(shard)
	}
	if !lost {
		return nil
	}
	st, err := m.cfg.Log.State(ctx, shard)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.suspect[shard] = st.Last
	m.mu.Unlock()
	if err := m.compareRows(ctx, shard); err != nil { // the rows are the evidence
		return err
	}
	m.cfg.Logger.Error(errRewound.Error(), "shard", shard, "seen", m.Seen(shard))
	m.forgetShard(shard)
	return nil
}

// Forget drops a session's row.
func (m *Materializer) Forget(id core.SessionID) { m.cfg.Directory.Forget(id) }

// Remake replaces a session's row by one made from s, even if that has a lower seq.
func (m *Materializer) Remake(s *engine.Session) {
	var v View
	_ = s.View(func(st *core.State) error {
		v = ViewOf(st)
		return nil
	})
	m.cfg.Directory.Forget(s.ID())
	m.cfg.Directory.Put(v)
}

// isSuspect reports whether a session in memory may have records that its shard
// lost: a record up to pos must be compared with the log.
func (m *Materializer) isSuspect(shard int, pos core.Pos) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return pos <= m.suspect[shard]
}

// lost reports whether the shard lost the last processed record.
func (m *Materializer) lost(ctx context.Context, shard int) (bool, error) {
	seen := m.floor(shard)
	if seen.Pos == 0 {
		return false, nil
	}
	chain, err := m.cfg.Log.ChainAt(ctx, shard, seen.Pos)
	if err == nil {
		return seen.Chain != core.Chain{} && chain != seen.Chain, nil
	}
	if !errors.Is(err, core.ErrNotFound) {
		return false, fmt.Errorf("shard %d: %w", shard, err)
	}
	return m.cfg.Log.ProveEndsBefore(ctx, shard, seen.Pos)
}

// watchLoss ends the following of a shard that lost records.
func (m *Materializer) watchLoss(ctx context.Context, giveUp context.CancelCauseFunc, shard int) {
	t := time.NewTicker(lossEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-m.wake[shard]:
			giveUp(errRebuild)
			return
		case <-ctx.Done():
			return
		}
		if lost, err := m.lost(ctx, shard); err == nil && lost {
			giveUp(errRewound)
			return
		}
		if m.cfg.Directory.Lost(shard) {
			giveUp(errRemade)
			return
		}
	}
}
