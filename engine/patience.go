package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
)

// soon is ctx for what is given up once it is clear that it cannot have been
// stored.
func (ss *Sessions) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, ss.until(ctx))
}

// until is when an append that comes now is given up, if it cannot have been
// stored by then: a little before its caller gives up, who so hears that it was
// not.
func (ss *Sessions) until(ctx context.Context) time.Time {
	now := time.Now()
	until := now.Add(ss.cfg.RetryTimeout)
	end, ok := ctx.Deadline()
	if !ok {
		return until
	}
	end = end.Add(-min(250*time.Millisecond, end.Sub(now)/8))
	if end.Before(until) {
		return end
	}
	return until
}

// await returns what became of q. While q is still in line it can be taken
// back, and nothing is in doubt.
func (s *Session) await(ctx context.Context, q *request) (Receipt, error) {
	late := time.NewTimer(time.Until(q.until))
	defer late.Stop()
	for {
		select {
		case <-q.done:
			if q.err != nil {
				return Receipt{}, q.err
			}
			return q.receipt, nil
		case <-late.C:
			if s.drop(q) {
				return Receipt{}, fmt.Errorf("append to session %s: its turn did not come in time, and nothing was sent: %w", s.id, core.ErrUnavailable)
			}
		case <-ctx.Done():
			if s.drop(q) {
				return Receipt{}, fmt.Errorf("append to session %s: nothing was sent: %w: %w", s.id, ctx.Err(), core.ErrUnavailable)
			}
			return Receipt{}, fmt.Errorf("append to session %s: %w: %w", s.id, ctx.Err(), core.ErrUncertain)
		}
	}
}

// drop takes q out of the line. It reports whether q was still there.
func (s *Session) drop(q *request) bool {
	s.qmu.Lock()
	defer s.qmu.Unlock()
	i := slices.Index(s.queue, q)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	s.ss.queue.leave(q.size())
	return true
}
