package opencode

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Leaf is the last entry that has a place in the tree.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	for _, e := range slices.Backward(es) {
		if !e.Aside {
			return frame.LeafAt(e.ID)
		}
	}
	return core.NoLeaf
}

// entriesTo returns the entries up to leaf.
func entriesTo(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	if leaf.IsNone() {
		return nil, nil
	}
	id, named := leaf.ID()
	if !named {
		return es, nil
	}
	for i, e := range slices.Backward(es) {
		if e.ID == id && !e.Aside {
			return es[:i+1], nil
		}
	}
	return nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
}

// Path returns the entries that have the rows of the session at leaf, in their
// order, and the entry at leaf. Rows that were replaced or removed until then are
// not part of it. Returns core.ErrNotFound if leaf names no entry of es that has a
// place in the tree.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	upto, err := entriesTo(es, leaf)
	if err != nil || len(upto) == 0 {
		return nil, err
	}
	live := fold(core.Header{}, upto).live()
	last := len(upto) - 1
	for last > 0 && upto[last].Aside {
		last--
	}
	var path []core.Entry
	for i, e := range upto[:last+1] {
		if !e.Aside && (i == last || live[i]) {
			path = append(path, e)
		}
	}
	return path, nil
}

// live returns which entries have rows of s.
func (s *state) live() map[int]bool {
	live := map[int]bool{s.infoAt: true}
	for _, m := range s.ordered() {
		live[m.at] = true
		for _, p := range m.parts {
			live[p.at] = true
			live[p.from] = true
		}
	}
	return live
}
