package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// WaitFor brings the session up to the leader's last record, and on until it has the
// record at c: another node that acknowledged it may be ahead of the servers that
// answer here. If the session ends before c, it asks a quorum (see RefreshStrict):
// core.ErrLost means that the session has another record there or none,
// core.ErrUnavailable that this is unknown when ctx ends. Every session has the zero
// cursor.
func (s *Session) WaitFor(ctx context.Context, c core.Cursor) error {
	if c == (core.Cursor{}) {
		return nil
	}
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	if there, err := s.hasRecord(ctx, c); there || err != nil {
		return err
	}
	err := s.RefreshStrict(ctx)
	if errors.Is(err, core.ErrFull) {
		return fmt.Errorf("session %s has no record %s yet, and a full log cannot prove that it never will have it: %v: %w", s.id, c, err, core.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("session %s has no record %s yet: %w", s.id, c, err)
	}
	if there, err := s.hasRecord(ctx, c); there || err != nil {
		return err
	}
	return s.lostError(c)
}

// Position is WaitFor that returns the record's position in the log. It returns
// core.ErrLost also if the record was truncated.
func (s *Session) Position(ctx context.Context, c core.Cursor) (core.Pos, error) {
	if err := s.WaitFor(ctx, c); err != nil {
		return 0, err
	}
	s.mu.RLock()
	end, known := s.end.pos, s.recent.at(c.Seq)
	s.mu.RUnlock()
	if known != nil {
		return known.Pos, nil
	}
	pos, err := s.locate(ctx, c, end)
	if err == nil && pos == 0 {
		return 0, fmt.Errorf("record %s of session %s was truncated; read the session again: %w", c, s.id, core.ErrLost)
	}
	return pos, err
}

// hasRecord reports whether the session has the record at c, false if it ends
// before. It returns core.ErrLost if another record is there.
func (s *Session) hasRecord(ctx context.Context, c core.Cursor) (bool, error) {
	s.mu.RLock()
	have, end, known := s.st.Cursor(), s.end.pos, s.recent.at(c.Seq)
	s.mu.RUnlock()
	switch {
	case have == c:
		return true, nil
	case have.Seq < c.Seq:
		return false, nil
	case have.Seq == c.Seq:
		return false, s.lostError(c)
	}
	if known != nil {
		if core.CursorOf(known.Seq, known.Chain) != c {
			return false, s.lostError(c)
		}
		return true, nil
	}
	_, err := s.locate(ctx, c, end)
	return err == nil, err
}

func (s *Session) lostError(c core.Cursor) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fmt.Errorf("session %s is at %s and has no record %s: %w", s.id, s.st.Cursor(), c, core.ErrLost)
}

// locate returns the position of the record at c, which is not a recent one. It
// returns 0 if that was truncated: the truncation has proved that the remaining
// records follow it.
func (s *Session) locate(ctx context.Context, c core.Cursor, end core.Pos) (core.Pos, error) {
	log := s.ss.cfg.Log
	for r, err := range Chained(ctx, log, s.id, 0, core.Cursor{}, ReadTo(ctx, log, s.id, 0, end)) {
		switch {
		case err != nil:
			return 0, err
		case r.Seq < c.Seq:
			continue
		case r.Seq > c.Seq:
			return 0, nil
		case core.CursorOf(r.Seq, r.Chain) == c:
			return r.Pos, nil
		}
		break
	}
	return 0, s.lostError(c)
}
