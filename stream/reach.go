package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Reach brings the session up to the leader's last record, and further until it
// has the record that c names: a node elsewhere that acknowledged it may be
// ahead of the servers that answer here. When the session ends before that
// record, a quorum is asked (see RefreshStrict): core.ErrLost says that the
// session has another record there or none, core.ErrUnavailable that this could
// not be told before ctx ended. The zero cursor is in every session.
func (s *Session) Reach(ctx context.Context, c core.Cursor) error {
	if c == (core.Cursor{}) {
		return nil
	}
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	if there, err := s.holds(ctx, c); there || err != nil {
		return err
	}
	err := s.RefreshStrict(ctx)
	if errors.Is(err, core.ErrFull) {
		return fmt.Errorf("session %s has no record %s yet, and a full log cannot prove that it never will: %v: %w", s.id, c, err, core.ErrUnavailable)
	}
	if err != nil {
		return fmt.Errorf("session %s has no record %s yet: %w", s.id, c, err)
	}
	if there, err := s.holds(ctx, c); there || err != nil {
		return err
	}
	return s.lostAt(c)
}

// Position is Reach that tells where in the log that record lies.
func (s *Session) Position(ctx context.Context, c core.Cursor) (core.Pos, error) {
	if err := s.Reach(ctx, c); err != nil {
		return 0, err
	}
	s.mu.RLock()
	have, end := s.st.Cursor(), s.st.Pos
	s.mu.RUnlock()
	if have == c {
		return end, nil
	}
	r, err := s.ss.record(ctx, s.id, c.Seq, end)
	if err != nil {
		return 0, err
	}
	return r.Pos, nil
}

// holds reports whether the session has the record that c names, false where it
// ends before it. core.ErrLost when it has another one there.
func (s *Session) holds(ctx context.Context, c core.Cursor) (bool, error) {
	s.mu.RLock()
	have, end := s.st.Cursor(), s.st.Pos
	known, ok := s.trail.at(c.Seq)
	s.mu.RUnlock()
	switch {
	case have == c:
		return true, nil
	case have.Seq < c.Seq:
		return false, nil
	case have.Seq == c.Seq:
		return false, s.lostAt(c)
	}
	if !ok {
		r, err := s.ss.record(ctx, s.id, c.Seq, end)
		if err != nil {
			return false, err
		}
		known = core.CursorOf(r.Seq, r.Chain)
	}
	if known != c {
		return false, s.lostAt(c)
	}
	return true, nil
}

func (s *Session) lostAt(c core.Cursor) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fmt.Errorf("session %s is at %s and has no record %s: %w", s.id, s.st.Cursor(), c, core.ErrLost)
}

// record returns the session's record with the number seq, which lies before
// end.
func (ss *Sessions) record(ctx context.Context, id core.SessionID, seq uint64, end core.Pos) (*core.Record, error) {
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, end) {
		if err != nil {
			return nil, err
		}
		if r.Seq == seq {
			return r, nil
		}
	}
	return nil, fmt.Errorf("session %s: record %d does not arrive: %w", id, seq, core.ErrUnavailable)
}

// A trail remembers the session's latest cursors: most who name one name a
// young one, and older ones cost reading the session's records.
type trail [64]core.Cursor

func (t *trail) add(c core.Cursor) { t[c.Seq%uint64(len(t))] = c }

func (t *trail) at(seq uint64) (core.Cursor, bool) {
	c := t[seq%uint64(len(t))]
	return c, c.Seq == seq
}
