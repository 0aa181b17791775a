package novasessions

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Run cleans up now and then, until ctx ends. It returns ctx's error. A program
// that wants no cleanup does not call it.
func (s *Sessions) Run(ctx context.Context) error {
	t := time.NewTicker(s.cfg.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			s.CleanupOld(ctx)
		}
	}
}

// CleanupOld cleans up the open sessions that core.Prune lets go by MaxAge and
// MaxOpen, and returns their ids, the oldest first. Only sessions that are open
// here are looked at, each as the log has it now; one that the log cannot be
// asked about stays.
func (s *Sessions) CleanupOld(ctx context.Context) []string {
	var all []core.Prunable
	for id := range s.all() {
		st, err := s.State(ctx, id)
		if err != nil {
			s.cfg.Logger.Warn("Nova session not looked at for cleanup", "session", id, "err", err)
			continue
		}
		all = append(all, core.Prunable{ID: core.SessionID(id), Created: timeOf(st.CreatedAt), Modified: timeOf(st.LastUpdated)})
	}
	var gone []string
	for _, p := range core.Prune(all, core.PruneLimits{MaxAge: s.cfg.MaxAge, Keep: s.cfg.MaxOpen}, s.cfg.Now()) {
		if s.Cleanup(ctx, string(p.ID), p.Why) == nil {
			gone = append(gone, string(p.ID))
		}
	}
	return gone
}

// timeOf reads a time as Nova writes it, in UTC without a zone, or with one.
// Text that is no time is the zero time.
func timeOf(s string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}
