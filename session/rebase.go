package session

import (
	"context"
	"errors"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// rebaseTries is how often entries are put behind a head that goes on moving.
const rebaseTries = 20

// Rebase puts the entries that could not be sent, because another moved the
// head, behind where that stands now, and sends them. Only the parents of those
// change that hung where the head stood; their ids stay. It is how a shared
// writer goes on. Any other reason why entries are unsent stays, and is
// returned: a fenced writer may branch off, or give up.
func (s *Session) Rebase(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return err
	}
	for range rebaseTries {
		if _, moved := errors.AsType[*core.ConflictError](s.err); !moved || s.d.Linear() {
			return s.err
		}
		stood := s.stoodAt
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if err := s.rehang(stood); err != nil {
			return err
		}
		s.forget()
		if err := s.send(ctx, true); err == nil {
			return nil
		}
	}
	return s.err
}

// rehang makes the unsent entries that hang on stood hang where the head
// stands, and the session stand at their end.
func (s *Session) rehang(stood core.Leaf) error {
	id, named := stood.ID()
	if !named && !stood.IsNone() || s.stands.IsDefault() {
		return s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.Clone(s.entries) // readers hold the old ones
	unsent := s.entries[len(s.entries)-s.unsent:]
	for i, e := range unsent {
		if e.Aside || e.Parent != id {
			continue
		}
		moved, err := s.d.Entry(core.Reparent(s.d, e.Line, s.stands))
		if err != nil {
			return err
		}
		unsent[i] = moved
	}
	s.leaf = s.stands
	if core.AnyInTree(unsent) {
		s.leaf = s.d.Leaf(unsent)
	}
	return nil
}
