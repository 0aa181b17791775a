package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// errDiffers means that the log has other records than those in memory.
var errDiffers = errors.New("the log has other records")

// verifyRecent reads the records after the last checkpoint, and after record seq, again
// and loads the session again if the log has others: what a checkpoint covers will be
// truncated, so it must not rely on memory alone, except that of the sole writer.
func (s *Session) verifyRecent(ctx context.Context, seq uint64) error {
	if s.ss.cfg.SoleWriter {
		return nil
	}
	seq = max(seq, s.st.Checkpointed)
	known := s.recent.records
	for len(known) > 0 && known[0].Seq <= seq {
		known = known[1:]
	}
	if len(known) == 0 {
		return nil
	}
	err := s.verifyAll(ctx, known)
	if errors.Is(err, errDiffers) {
		return s.reload(ctx, nil)
	}
	return err
}

// verifyAll returns errDiffers if the log lacks one of the known records, or has others
// among them. The leader confirms the first and the last one, so any replica may serve
// those between: one that lags is asked again.
func (s *Session) verifyAll(ctx context.Context, known []*core.Record) error {
	first := known[0]
	if err := s.verifyStored(ctx, mark{first.Pos, first.Chain}); err != nil {
		return err
	}
	err := s.ss.checkFollows(ctx, s.id, first)
	if errors.Is(err, core.ErrOrphan) {
		return errDiffers
	}
	if err != nil || s.end.pos == first.Pos {
		return err
	}
	if err := s.verifyStored(ctx, s.end); err != nil {
		return err
	}
	known = known[1:]
	at := view{st: s.st, end: mark{first.Pos, first.Chain}}
	err = s.ss.readAfter(ctx, &at, &core.Record{Pos: s.end.pos}, func(r *core.Record) error {
		at.end = mark{r.Pos, r.Chain}
		switch {
		case len(known) > 0 && r.Pos == known[0].Pos && r.Chain == known[0].Chain:
			known = known[1:]
		case s.isOrphan(r):
		default:
			return errDiffers
		}
		return nil
	})
	if err == nil && len(known) > 0 {
		return errDiffers
	}
	return err
}

// verifyStored returns errDiffers if the leader does not have that record. It does not
// read the body, which may be large.
func (s *Session) verifyStored(ctx context.Context, m mark) error {
	there, err := s.ss.cfg.Log.LinkAt(ctx, s.id, m.pos)
	if errors.Is(err, core.ErrNotFound) || err == nil && there.Chain != m.chain {
		return errDiffers
	}
	return err
}

func (s *Session) isOrphan(r *core.Record) bool {
	return slices.ContainsFunc(s.orphans, func(orphan *core.Record) bool {
		return orphan.Pos == r.Pos && orphan.Chain == r.Chain
	})
}
