package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

// Rewind takes back what was added after to, as before another attempt: the leaf
// is at to again (core.LeafAt, or core.NoLeaf). Entries that the log does not have
// are removed. Entries in the log stay there, on no path to the leaf. Rewind returns
// core.ErrNotFound if to names an entry that does not exist.
func (s *Session) Rewind(ctx context.Context, to core.Leaf) error {
	id, named := to.ID()
	if !named && !to.IsNone() {
		return fmt.Errorf("rewind: name an entry, or core.NoLeaf: %w", core.ErrInvalid)
	}
	if done, err := s.drop(ctx, id, to); done || err != nil {
		return err
	}
	if named {
		return s.Branch(ctx, id)
	}
	return s.ResetLeaf(ctx)
}

// drop removes the entries after to, if the log has none of them and no request
// with them is under way.
func (s *Session) drop(ctx context.Context, id string, to core.Leaf) (done bool, err error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.unlock()
	if err := s.writable(); err != nil {
		return false, err
	}
	n := 0
	if id != "" {
		if err := s.batch().mustHave(id); err != nil {
			return false, err
		}
		n = s.byID[id] + 1
	}
	inLog := len(s.entries) - s.unsent
	if s.log == nil {
		inLog = 0
	}
	if n < inLog || s.uncertain > 0 || s.createdWith >= 0 && !s.saved || s.err != nil {
		return false, nil
	}
	from := s.leaf
	s.mu.Lock()
	s.unsent = max(0, s.unsent-(len(s.entries)-n))
	s.entries = slices.Clone(s.entries[:n]) // readers share the old slice
	s.index()
	s.leaf = to
	s.mu.Unlock()
	s.moved(from, nil)
	return true, s.send(ctx, false)
}

// Rewrite replaces the lines of entries, as an agent does that corrects the
// arguments of a call. Each line names its entry by its id, and keeps the id, the
// parent and the type. Either all lines are stored, in one record, or none. Rewrite
// returns core.ErrNotFound for an entry that does not exist.
func (s *Session) Rewrite(ctx context.Context, lines ...[]byte) error {
	return s.amend(ctx, func() ([]core.Entry, error) {
		es := make([]core.Entry, len(lines))
		for i, line := range lines {
			e, err := s.rewritten(slices.Clone(line))
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			es[i] = e
		}
		return es, nil
	})
}

// rewritten reads the new line of an entry.
func (s *Session) rewritten(line []byte) (core.Entry, error) {
	e, err := s.d.Entry(line)
	if err != nil {
		return e, err
	}
	old, ok := s.entry(e.ID)
	switch {
	case !ok:
		return e, fmt.Errorf("session %s has no entry %q: %w", s.id, clip(e.ID), core.ErrNotFound)
	case e.Parent != old.Parent || e.Type != old.Type || e.Aside != old.Aside:
		return e, fmt.Errorf("the new line of entry %q has another parent or type: %w", clip(e.ID), core.ErrInvalid)
	}
	return e, nil
}

// Custom returns the entries that an extension added under this name, on all
// branches, in order: data, and messages.
func (s *Session) Custom(name string) []core.Entry { return tree.Custom(s.d, s.Entries(), name) }
