package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// RefreshStrict brings the session up to a record that a quorum of the log's servers
// had as its last during the call. After it returns nil, the state has every append
// that was acknowledged before the call, without relying on a server that was cut
// off. It retries until ctx ends, which is core.ErrUnavailable. It writes to the
// stream, though not to the session, so a log that is 95 % full answers
// core.ErrFull; Refresh still works then. An erased session is an error as for Refresh.
// Concurrent callers share a barrier.
func (s *Session) RefreshStrict(ctx context.Context) error {
	r := s.barriers.join(s.ss.workers, s.proveUntilDone)
	defer s.barriers.leave(r)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("strict read of session %s: no quorum of the log answered in time: %w: %w", s.id, ctx.Err(), core.ErrUnavailable)
	}
}

// proveUntilDone catches up and proves until it succeeds or ctx ends. It releases
// the write lock between attempts.
func (s *Session) proveUntilDone(ctx context.Context) error {
	for {
		err := s.proveLast(ctx)
		again := errors.Is(err, core.ErrConflict) || errors.Is(err, core.ErrUnavailable)
		if !again || retry.Pause(ctx) != nil {
			return err
		}
	}
}

// proveLast holds the write lock, so that no append of this node comes between.
func (s *Session) proveLast(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	return cmp.Or(s.ss.cfg.Log.Prove(ctx, s.id, s.end.pos), s.notErased())
}

// ProveAbsent returns nil if a quorum of the log's servers had nothing of the
// session during the call, and core.ErrConflict if it has something. The other
// errors are those of RefreshStrict. It reads again after the proof: a leader
// that stored a barrier has every record before it, even if it was elected while it
// checked the barrier's condition.
func (ss *Sessions) ProveAbsent(ctx context.Context, id core.SessionID) error {
	for {
		err := ss.cfg.Log.Prove(ctx, id, 0)
		if err == nil {
			err = ss.absent(ctx, id)
		}
		if !errors.Is(err, core.ErrUnavailable) || retry.Pause(ctx) != nil {
			return err
		}
	}
}

// absent returns nil if the leader has nothing of the session, and core.ErrConflict
// if it has something.
func (ss *Sessions) absent(ctx context.Context, id core.SessionID) error {
	switch err := ss.Has(ctx, id); {
	case err == nil, errors.Is(err, core.ErrCorrupt):
		return fmt.Errorf("session %s exists: %w", id, core.ErrConflict)
	case errors.Is(err, core.ErrNotFound):
		return nil
	default:
		return err
	}
}

// rounds shares runs of a function. Each caller gets the result of a run that began
// after it joined.
type rounds struct {
	mu      sync.Mutex
	next    *round // not started
	running bool
}

// round is one run and its callers.
type round struct {
	ctx     context.Context
	cancel  context.CancelFunc // when no caller waits
	waiting int
	done    chan struct{} // closed when err is set
	err     error
}

// join adds the caller to the next round. The caller must leave it.
func (rs *rounds) join(w *workers, run func(context.Context) error) *round {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.next == nil {
		rs.next = &round{done: make(chan struct{})}
		rs.next.ctx, rs.next.cancel = context.WithCancel(w.ctx)
	}
	rs.next.waiting++
	if !rs.running {
		if err := w.start(func() { rs.serve(run) }); err != nil {
			r := rs.next
			rs.next, r.err = nil, err
			close(r.done)
			return r
		}
		rs.running = true
	}
	return rs.next
}

func (rs *rounds) leave(r *round) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return
	}
	r.cancel()
	if rs.next == r {
		rs.next = nil
	}
}

// serve runs rounds while there are callers.
func (rs *rounds) serve(run func(context.Context) error) {
	for {
		rs.mu.Lock()
		r := rs.next
		rs.next = nil
		if r == nil {
			rs.running = false
		}
		rs.mu.Unlock()
		if r == nil {
			return
		}
		r.err = run(r.ctx)
		close(r.done)
	}
}
