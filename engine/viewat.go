package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Moment is a state of a session in the past: after the record with number Seq,
// or after the record that added Entry.
type Moment struct {
	Seq    uint64
	Cursor core.Cursor // if not zero, that of the record with number Seq
	Entry  string      // if Seq is 0
}

func (m Moment) String() string {
	if m.Cursor.Seq > 0 {
		return fmt.Sprintf("record %v", m.Cursor)
	}
	if m.Seq > 0 {
		return fmt.Sprintf("record %d", m.Seq)
	}
	return fmt.Sprintf("entry %.64q", m.Entry)
}

func (m Moment) isAt(st *core.State) bool {
	if m.Seq > 0 {
		return st.Seq == m.Seq && (m.Cursor.Seq == 0 || st.Cursor() == m.Cursor)
	}
	_, ok := st.Entry(m.Entry)
	return ok
}

var errSeen = errors.New("the moment was found")

// ViewAt calls f with the session as it was at m. f may keep what the state refers
// to, but must not modify it. It returns core.ErrNotFound if the session has no
// such record or entry, and core.ErrLost if the log dropped the records of that
// moment, because a snapshot covers them.
func (s *Session) ViewAt(ctx context.Context, m Moment, f func(*core.State) error) error {
	var result error
	first := uint64(0)
	err := s.replay(ctx, func(st *core.State) error {
		isFirst := first == 0
		if isFirst {
			first = st.Seq
		}
		if !m.isAt(st) {
			return nil
		}
		if isFirst && m.Seq == 0 && first > 1 { // it was added at some time before
			return s.dropped(m, first)
		}
		result = f(st)
		return errSeen
	})
	switch {
	case errors.Is(err, errSeen):
		return result
	case err != nil:
		return err
	case m.Seq > 0 && m.Seq < first:
		return s.dropped(m, first)
	}
	return fmt.Errorf("session %s has no %v: %w", s.id, m, core.ErrNotFound)
}

func (s *Session) dropped(m Moment, first uint64) error {
	return fmt.Errorf("session %s at %v: the log starts at record %d, a snapshot covers what was before: %w", s.id, m, first, core.ErrLost)
}
