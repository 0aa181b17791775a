package session

import (
	"context"
	"errors"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

// rebaseTries is how often Rebase tries while the head keeps moving.
const rebaseTries = 20

// Rebase sends entries that failed because another writer moved the head: it
// appends them at the head's current leaf. Only parents that were the head's old
// leaf change; ids stay. A shared writer continues with it. If entries are unsent
// for another reason, Rebase returns that: a fenced writer can use BranchOff or
// Discard.
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
		stood := s.sentAfter
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if err := s.reparent(stood); err != nil {
			return err
		}
		s.clearErr()
		if err := s.send(ctx, true); err == nil {
			return nil
		}
	}
	return s.err
}

// reparent moves the unsent children of stood to the head's leaf, and sets the
// session's leaf to their end.
func (s *Session) reparent(stood core.Leaf) error {
	id, named := stood.ID()
	if !named && !stood.IsNone() || s.logLeaf.IsDefault() {
		return s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.Clone(s.entries) // readers share the old slice
	unsent := s.entries[len(s.entries)-s.unsent:]
	for i, e := range unsent {
		if e.Aside || e.Parent != id {
			continue
		}
		moved, err := s.d.Entry(tree.Reparent(s.d, e.Line, s.logLeaf))
		if err != nil {
			return err
		}
		unsent[i] = moved
	}
	s.leaf = s.logLeaf
	if core.AnyInTree(unsent) {
		s.leaf = s.d.Leaf(unsent)
	}
	return nil
}
