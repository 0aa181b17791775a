package nova

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/core"
	dialect "github.com/sesslog/sesslog/core/dialect/nova"
	"github.com/sesslog/sesslog/core/prune"
)

// Cleanup moves a session to the trash. Errors are those of GetOrCreate; on an
// error the session is still held.
func (ss *Sessions) Cleanup(ctx context.Context, id string) error {
	return ss.remove(ctx, id, "cleaned up")
}

func (ss *Sessions) remove(ctx context.Context, id, why string) error {
	h, err := ss.session(ctx, id)
	if err != nil {
		return err
	}
	if err := ss.cfg.Log.Delete(ctx, h.id, core.Notice{By: ss.cfg.By, Why: why, Time: ss.cfg.Now().UTC()}); err != nil {
		return err
	}
	ss.drop(id)
	ss.cfg.Logger.Info("nova session cleaned up", "session", id, "why", why)
	return nil
}

// Run cleans up at regular intervals until ctx ends, and then returns nil. A
// program that wants no cleanup does not call it.
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

// CleanupOld cleans up the held sessions that are over the limits, see
// prune.Choose, and returns those it removed. It skips sessions that a writer has
// claimed. If a session cannot be removed, CleanupOld logs why and continues.
func (ss *Sessions) CleanupOld(ctx context.Context) []prune.Pruned {
	var all []prune.Session
	names := map[core.SessionID]string{}
	for _, id := range ss.Held() {
		if p, ok := ss.prunable(ctx, id); ok {
			all = append(all, p)
			names[p.ID] = id
		}
	}
	var out []prune.Pruned
	for _, p := range prune.Choose(ss.cfg.Now(), all, *ss.cfg.Cleanup) {
		if err := ss.remove(ctx, names[p.ID], p.Why); err != nil {
			ss.cfg.Logger.Error("nova session not cleaned up", "session", names[p.ID], "err", err)
			continue
		}
		out = append(out, p)
	}
	return out
}

// prunable returns a session as it is in the log now; false if it is gone or
// claimed.
func (ss *Sessions) prunable(ctx context.Context, id string) (prune.Session, bool) {
	v, err := ss.current(ctx, id)
	if gone(err) {
		return prune.Session{}, false
	}
	if err != nil {
		ss.cfg.Logger.Error("nova session not loaded", "session", id, "err", err)
		return prune.Session{}, false
	}
	p := prune.Session{ID: core.SessionIDFor("nova", id)}
	p.Created, _ = dialect.ParseTime(v.state.CreatedAt)
	p.Modified, _ = dialect.ParseTime(v.state.LastUpdated)
	return p, !v.claimed
}
