package engine

import (
	"context"
	"time"
)

// The deadlines of one append, from the inside out:
//
//	0 s    2 s                 12 s                  30 s
//	|------|                                            one publish: stream.LogConfig.AckWait
//	|--------------------------|                        cannot have been stored: Config.RetryTimeout, or
//	                                                    shortly before the caller's deadline; ErrUnavailable
//	|--------------------------|--------------------|   may have been stored: Config.Timeout; ErrUncertain
//
// The retries, each bounded by one of these:
//
//   - stream.Log.Append publishes again while a server is busy.
//   - Session.put publishes again after a lost answer, and after a conflict with a
//     record that does not exist.
//   - Session.commit builds the record again after another record came first.
//   - Session.serveBatch retries a batch without the requests whose deadline passed.
//
// The pauses are those of package retry. So an append takes at most Config.Timeout after
// it leaves the queue, and at most RetryTimeout in the queue.

// retryContext returns a ctx that ends at the retry deadline.
func (ss *Sessions) retryContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, ss.retryDeadline(ctx))
}

// retryDeadline returns when an append is given up that cannot have been stored:
// after Config.RetryTimeout, or shortly before the caller's own deadline, so that
// the caller gets a definite "not stored".
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
