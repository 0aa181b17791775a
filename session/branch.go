package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Branch makes the session stand at the entry called id, so that the next entry
// hangs on it, and makes that last: an agent that has an entry for it gets that,
// for any other the head is moved. Nothing is lost, what hung there before stays
// in the tree. core.ErrNotFound when there is no such entry.
func (s *Session) Branch(ctx context.Context, id string) error {
	to := core.LeafAt(id)
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		b := s.batch()
		if err := b.there(id); err != nil {
			return nil, err
		}
		if err := s.mayBranch(to); err != nil || s.leaf == to {
			return nil, err
		}
		if line, _ := s.d.Write(core.Item{Kind: core.ItemLeaf, Target: id}); line != nil {
			err := b.fill(line, b.leaf, "")
			return b.entries, err
		}
		s.stand(to)
		return nil, nil
	})
	return err
}

// ResetLeaf makes the session stand before all entries: its context is empty
// and the next entry is a root. In a log that lasts; a file of the agent's does
// not show it unless the agent has an entry for it.
func (s *Session) ResetLeaf(ctx context.Context) error {
	_, err := s.write(ctx, func() ([]core.Entry, error) {
		if err := s.mayBranch(core.NoLeaf); err != nil {
			return nil, err
		}
		s.stand(core.NoLeaf)
		return nil, nil
	})
	return err
}

// BranchWithSummary makes the session go on from another place, core.LeafAt an
// entry or core.NoLeaf, with a summary of the branch that it leaves, and
// returns the summary's id. details, one JSON value or nil, is whatever the
// agent adds. core.ErrNotFound when from names an entry that is not there.
func (s *Session) BranchWithSummary(ctx context.Context, from core.Leaf, summary string, details json.RawMessage) (string, error) {
	return s.one(ctx, func(b *batch) error {
		id, named := from.ID()
		if named {
			if err := b.there(id); err != nil {
				return err
			}
		} else if !from.IsNone() {
			return fmt.Errorf("a branch with a summary begins at an entry, or before all: %w", core.ErrInvalid)
		}
		if err := s.mayBranch(from); err != nil {
			return err
		}
		line, _, err := s.line(core.BranchSummary(s.d, s.leaf, from, summary, details))
		if err != nil {
			return err
		}
		return b.fill(line, from, "")
	})
}

// mayBranch refuses another place than the leaf where sessions have no
// branches.
func (s *Session) mayBranch(to core.Leaf) error {
	if s.d.Linear() && s.leaf != to {
		return fmt.Errorf("sessions of %s have no branches: %w", s.d.Name(), core.ErrInvalid)
	}
	return nil
}

// stand changes where the session stands.
func (s *Session) stand(leaf core.Leaf) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaf = leaf
}
