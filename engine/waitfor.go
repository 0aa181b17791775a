package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// WaitFor brings the session up to the leader's last record, and further until it
// has the record that c names: a node elsewhere that acknowledged it may be
// ahead of the servers that answer here. When the session ends before that
// record, a quorum is asked (see RefreshStrict): core.ErrLost says that the
// session has another record there or none, core.ErrUnavailable that this could
// not be told before ctx ended. The zero cursor is in every session.
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
		return fmt.Errorf("session %s has no record %s yet, and a full log cannot prove that it never will: %v: %w", s.id, c, err, core.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("session %s has no record %s yet: %w", s.id, c, err)
	}
	if there, err := s.hasRecord(ctx, c); there || err != nil {
		return err
	}
	return s.lostError(c)
}

// Position is Reach that tells where in the log that record lies. core.ErrLost
// also where it was dropped because nobody needed it to read the session.
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
		return 0, fmt.Errorf("record %s of session %s was dropped with others before it; read the session anew: %w", c, s.id, core.ErrLost)
	}
	return pos, err
}

// holds reports whether the session has the record that c names, false where it
// ends before it. core.ErrLost when it has another one there.
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

// find returns where the record lies that c names, which is none of the latest.
// Where it was dropped with all before it, whoever did so has proved what came
// of it: that is 0, from where reading begins at what is left.
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
