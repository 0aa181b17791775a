package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// commit stores the record that build makes from the state, and folds it. build
// returns nil if there is nothing to store. Its error counts only if fresh is true:
// the state is then as fresh as the leader's. commit calls build again after another
// record came first, or if only a read can tell what became of its own record, so
// build must see from the state that its work is done. Until retryCtx ends it
// retries what cannot have been stored; until ctx, which ends later, what may have
// been.
func (s *Session) commit(ctx, retryCtx context.Context, build func(st *core.State, fresh bool) (*core.Record, error)) error {
	fresh := false
	for {
		s.sentEntries = nil
		r, err := build(s.st, fresh)
		if err == nil && r == nil {
			return nil
		}
		if err != nil && fresh {
			if err := s.confirmRefusal(retryCtx, err); err != nil {
				return err
			}
		}
		if err != nil {
			if err := s.catchUp(retryCtx); err != nil {
				return err
			}
			fresh = true
			continue
		}
		if err := s.ss.refuse(retryCtx, s.id, r.Kind); err != nil {
			return err
		}
		s.link(r)
		stored, err := s.put(ctx, retryCtx, r)
		if err != nil || stored {
			return err
		}
		fresh = true // put has read the new records
	}
}

// confirmRefusal returns the refusal if it holds, and nil if the state was stale. A
// leader that was cut off knows former holders and lacks stored lines, so a retry
// after a lost answer must not be rejected on its word: the log proves the last
// record, if it can and has the space.
func (s *Session) confirmRefusal(ctx context.Context, refusal error) error {
	if !needsProof(refusal) {
		return refusal
	}
	for {
		err := s.ss.cfg.Log.Prove(ctx, s.id, s.end.pos)
		switch {
		case err == nil, errors.Is(err, core.ErrFull):
			return refusal
		case retry.Pause(ctx) != nil:
			return fmt.Errorf("%v, according to a server that may be cut off: %w", refusal, core.ErrUnavailable)
		case errors.Is(err, core.ErrConflict):
			return nil
		case !errors.Is(err, core.ErrUnavailable):
			return err
		}
	}
}

// needsProof reports whether a refusal depends on what other writers did. An id that
// is taken stays taken.
func needsProof(refusal error) bool {
	if _, ok := errors.AsType[*core.LineError](refusal); ok {
		return false
	}
	return errors.Is(refusal, core.ErrFenced) || errors.Is(refusal, core.ErrConflict)
}

// link makes r the successor of the state's last record.
func (s *Session) link(r *core.Record) {
	r.Seq = s.st.Seq + 1
	if r.Kind != core.KindCheckpoint {
		r.Base = s.st.Base
	}
	if r.Kind != core.KindClaim {
		r.Epoch = s.st.Epoch
	}
	r.Chain = s.st.Chain.Next(r)
}

// put stores r after the state's last record and folds it. It returns false if
// another record came first, which is then folded.
func (s *Session) put(ctx, retryCtx context.Context, r *core.Record) (stored bool, err error) {
	s.sent, s.found = r.Chain, false
	es := s.sentEntries
	s.sentEntries = nil
	uncertain := false // an earlier attempt may have been stored
	for {
		before, seq, began := s.end, s.st.Seq, time.Now()
		pos, err := s.ss.cfg.Log.Append(retryCtx, s.id, s.end.pos, r)
		switch {
		case err == nil:
			s.recordStored(began)
			r.Pos, r.After = pos, s.end.pos
			r.Time = s.ss.cfg.Now().UTC() // the log does not return its own time, which other readers get
			return true, s.foldRead(r, es)
		case errors.Is(err, core.ErrConflict):
			if cerr := s.catchUp(retryCtx); cerr != nil {
				return false, s.outcome(r, cerr, uncertain)
			}
			if s.found {
				return true, nil // an earlier attempt was stored; other records may follow it
			}
			if s.end != before {
				// A single checkpoint is not a competing writer.
				s.recordLostRace(s.st.Seq != seq+1 || s.st.Base != s.end.pos)
				return false, nil
			}
			// The server rejected it because of a record that does not exist: its own
			// read failed. Retry.
		case errors.Is(err, core.ErrUncertain):
			uncertain, retryCtx = true, ctx
		case uncertain && errors.Is(err, core.ErrUnavailable):
			// This attempt was not stored. An earlier one may have been.
		default:
			return false, s.outcome(r, err, uncertain)
		}
		if retry.Pause(retryCtx) != nil {
			return false, s.outcome(r, fmt.Errorf("%v: %w", err, core.ErrUnavailable), uncertain)
		}
	}
}

// outcome returns err, as core.ErrUncertain if r may have been stored.
func (s *Session) outcome(r *core.Record, err error, uncertain bool) error {
	if !uncertain {
		return err
	}
	return fmt.Errorf("%s record %d of session %s: %v; repeat the same request to find out: %w", r.Kind, r.Seq, s.id, err, core.ErrUncertain)
}

// write is commit for a caller without the write lock. done, unless nil, sees the
// state after it.
func (s *Session) write(ctx context.Context, build func(st *core.State, fresh bool) (*core.Record, error), done func(*core.State) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.ss.cfg.Timeout)
	defer cancel()
	retryCtx, cancel := s.ss.retryContext(ctx)
	defer cancel()
	if err := s.lock(retryCtx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.commit(ctx, retryCtx, build); err != nil {
		return err
	}
	if done != nil {
		return done(s.st)
	}
	return nil
}

func (s *Session) writerOr(writer string) string {
	if writer != "" {
		return writer
	}
	return s.writer
}
