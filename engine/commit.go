package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// commit stores the record that build makes of the state, and folds it. build
// returns no record when there is nothing to store. Its error counts once the
// state is as fresh as the leader's; fresh tells it so. It must find out from
// the state alone when its work is done: it is called again whenever another
// record came between, or when only reading can tell what became of its own.
// What cannot have been stored is given up when retryCtx ends, which is before ctx.
func (s *Session) commit(ctx, retryCtx context.Context, build func(st *core.State, fresh bool) (*core.Record, error)) error {
	fresh := false
	for {
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
		s.link(r)
		stored, err := s.put(ctx, retryCtx, r)
		if err != nil || stored {
			return err
		}
		fresh = true // put has caught up
	}
}

// refuse returns the refusal if it stands, and nil where the state was not as
// fresh as it seemed. A leader that was cut off knows holders who are none any
// more, and lacks lines that are there: who asks again because an answer was lost
// must not be refused on its word. So a proof is asked for, where the log gives
// any and has room for it.
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
			return fmt.Errorf("%v, says a server that may be cut off: %w", refusal, core.ErrUnavailable)
		case errors.Is(err, core.ErrConflict):
			return nil
		case !errors.Is(err, core.ErrUnavailable):
			return err
		}
	}
}

// needsProof reports whether a refusal is for what others are said to have done,
// and might not be so. An id that is taken stays taken.
func needsProof(refusal error) bool {
	if _, ok := errors.AsType[*core.LineError](refusal); ok {
		return false
	}
	return errors.Is(refusal, core.ErrFenced) || errors.Is(refusal, core.ErrConflict)
}

// link makes r the record behind the state's last.
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

// put stores r behind the state's last record and folds it. It returns false
// when another record came first; the state holds that one then.
func (s *Session) put(ctx, retryCtx context.Context, r *core.Record) (stored bool, err error) {
	s.sent, s.found = r.Chain, false
	uncertain := false // an earlier try may have been stored
	for {
		before, seq, began := s.end, s.st.Seq, time.Now()
		pos, err := s.ss.cfg.Log.Append(retryCtx, s.id, s.end.pos, r)
		switch {
		case err == nil:
			s.recordStored(began)
			r.Pos, r.After = pos, s.end.pos
			return true, s.fold(r)
		case errors.Is(err, core.ErrConflict):
			if cerr := s.catchUp(retryCtx); cerr != nil {
				return false, s.outcome(r, cerr, uncertain)
			}
			if s.found {
				return true, nil // an earlier try, whose answer was lost; others may be behind it
			}
			if s.end != before {
				// One checkpoint is no writer, and waits for nothing.
				s.recordLostRace(s.st.Seq != seq+1 || s.st.Base != s.end.pos)
				return false, nil
			}
			// The server refused for a record that is not there: its own read
			// failed. The same again.
		case errors.Is(err, core.ErrUncertain):
			uncertain, retryCtx = true, ctx
		case uncertain && errors.Is(err, core.ErrUnavailable):
			// This try was not stored. An earlier one may be.
		default:
			return false, s.outcome(r, err, uncertain)
		}
		if retry.Pause(retryCtx) != nil {
			return false, s.outcome(r, fmt.Errorf("%v: %w", err, core.ErrUnavailable), uncertain)
		}
	}
}

// outcome is what to say of r when err is in the way of storing it.
func (s *Session) outcome(r *core.Record, err error, uncertain bool) error {
	if !uncertain {
		return err
	}
	return fmt.Errorf("%s record %d of session %s: %v; the same again tells: %w", r.Kind, r.Seq, s.id, err, core.ErrUncertain)
}

// write is commit for one that waits for its turn. done, where there is one,
// sees the state right after.
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
