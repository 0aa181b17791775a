package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/tree"
)

// Branch sets the leaf to the entry id, so that the next entry becomes its child.
// It stores an entry that says so if the agent has one, else it moves the head.
// Entries after id stay in the tree. Branch returns core.ErrNotFound if there is no
// such entry.
func (s *Session) Branch(ctx context.Context, id string) error {
	to, from := core.LeafAt(id), s.Leaf()
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		if err := b.mustHave(id); err != nil {
			return nil, err
		}
		if err := s.checkBranch(to); err != nil || s.leaf == to {
			return nil, err
		}
		if line, _ := s.d.Write(item.Item{Kind: item.Leaf, Target: id}); line != nil {
			err := b.fill(line, b.leaf, "")
			return b.entries, err
		}
		s.setLeaf(to)
		return nil, nil
	})
	s.moved(from, err)
	return err
}

// ResetLeaf sets the leaf before all entries: the context is empty and the next
// entry is a root. The log keeps that; an agent's file shows it only if the agent
// has an entry for it.
func (s *Session) ResetLeaf(ctx context.Context) error {
	from := s.Leaf()
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		if err := s.checkBranch(core.NoLeaf); err != nil {
			return nil, err
		}
		s.setLeaf(core.NoLeaf)
		return nil, nil
	})
	s.moved(from, err)
	return err
}

// BranchWithSummary continues from another leaf (core.LeafAt or core.NoLeaf) with
// a summary of the branch that it leaves, and returns the summary's id. details is
// one JSON value for the agent's own use, or nil. BranchWithSummary returns
// core.ErrNotFound if from names an entry that does not exist.
func (s *Session) BranchWithSummary(ctx context.Context, from core.Leaf, summary string, details json.RawMessage) (string, error) {
	left := s.Leaf()
	made, err := s.one(ctx, func(b *batch) error {
		id, named := from.ID()
		if named {
			if err := b.mustHave(id); err != nil {
				return err
			}
		} else if !from.IsNone() {
			return fmt.Errorf("branch with summary: name an entry, or core.NoLeaf: %w", core.ErrInvalid)
		}
		if err := s.checkBranch(from); err != nil {
			return err
		}
		line, _, err := s.line(tree.BranchSummary(s.d, s.leaf, from, summary, details))
		if err != nil {
			return err
		}
		return b.fill(line, from, "")
	})
	s.moved(left, err)
	return made, err
}

// checkBranch refuses a leaf other than the current one if the agent's sessions
// have no branches.
func (s *Session) checkBranch(to core.Leaf) error {
	if s.d.Linear() && s.leaf != to {
		return fmt.Errorf("sessions of %s have no branches: %w", s.d.Name(), core.ErrInvalid)
	}
	return nil
}

// setLeaf changes the leaf in memory.
func (s *Session) setLeaf(leaf core.Leaf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaf = leaf
}
