package engine

import (
	"context"
	"time"
)

// retryCtx is ctx for what is given up once it is clear that it cannot have been
// stored.
func (ss *Sessions) retryContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, ss.retryDeadline(ctx))
}

// until is when an append that comes now is given up, if it cannot have been
// stored by then: a little before its caller gives up, who so hears that it was
// not.
func (ss *Sessions) retryDeadline(ctx context.Context) time.Time {
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
