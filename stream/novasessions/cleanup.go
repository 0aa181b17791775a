package novasessions

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/nova"
)

// Cleanup puts a session in the trash and holds it no more. core.ErrNotFound as
// for GetOrCreate; on any error the session stays.
func (ss *Sessions) Cleanup(ctx context.Context, id string) error {
	return ss.remove(ctx, id, "cleaned up")
}

func (ss *Sessions) remove(ctx context.Context, id, why string) error {
	s, err := ss.session(ctx, id)
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, core.Notice{By: ss.cfg.By, Why: why, Time: ss.cfg.Now().UTC()}); err != nil {
		return err
	}
	ss.drop(id)
	ss.cfg.Logger.Info("nova session cleaned up", "session", id, "why", why)
	return nil
}

// Run cleans up every so often until ctx ends, and returns nil then. A program
// that wants no cleanup does not call it.
func (ss *Sessions) Run(ctx context.Context) error {
	every := time.NewTicker(ss.cfg.CleanupEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			ss.CleanupOld(ctx)
		}
	}
}

// CleanupOld cleans up the sessions held here that are beyond the limits, see
// core.Prune, and returns those that went. One that a writer has claimed is at
// work and stays. What stands in the way of one is logged and does not stop it.
func (ss *Sessions) CleanupOld(ctx context.Context) []core.Pruned {
	var all []core.Prunable
	names := map[core.SessionID]string{}
	for _, id := range ss.Held() {
		if p, ok := ss.prunable(ctx, id); ok {
			all = append(all, p)
			names[p.ID] = id
		}
	}
	var out []core.Pruned
	for _, p := range core.Prune(ss.cfg.Now(), all, *ss.cfg.Cleanup) {
		if err := ss.remove(ctx, names[p.ID], p.Why); err != nil {
			ss.cfg.Logger.Error("nova session not cleaned up", "session", names[p.ID], "err", err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// prunable is a session as it is in the log now, unless it is gone or at work.
func (ss *Sessions) prunable(ctx context.Context, id string) (core.Prunable, bool) {
	s, err := ss.session(ctx, id)
	if err == nil {
		err = s.Refresh(ctx)
	}
	var v view
	if err == nil {
		v, err = look(s)
	}
	if gone(err) {
		ss.drop(id)
		return core.Prunable{}, false
	}
	if err != nil {
		ss.cfg.Logger.Error("nova session not looked at", "session", id, "err", err)
		return core.Prunable{}, false
	}
	p := core.Prunable{ID: s.ID()}
	p.Created, _ = nova.ParseTime(v.state.CreatedAt)
	p.Modified, _ = nova.ParseTime(v.state.LastUpdated)
	return p, !v.claimed
}
