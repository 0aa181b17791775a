package openrath

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// Leaf is the last chunk, the default leaf if that has no id, or NoLeaf if
// there is none.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	rows := chunks(es)
	if len(rows) == 0 {
		return core.NoLeaf
	}
	if id := rows[len(rows)-1].ID; id != "" {
		return core.LeafAt(id)
	}
	return core.Leaf{}
}

// Path returns the chunks up to leaf, or all of them for the default leaf. Of
// several with one id, the last counts. Returns ErrNotFound if leaf names no
// chunk of es.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	rows := chunks(es)
	id, named := leaf.ID()
	switch {
	case leaf.IsNone():
		return nil, nil
	case !named:
		return rows, nil
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].ID == id && id != "" {
			return rows[:i+1], nil
		}
	}
	return nil, fmt.Errorf("entry %q: %w", clip(id, 64), core.ErrNotFound)
}

// Tree is the chunks, each below the one before it.
func (Dialect) Tree(es []core.Entry) []display.TreeNode {
	rows := chunks(es)
	nodes := make([]display.TreeNode, len(rows))
	for i, e := range rows {
		nodes[i] = display.TreeNode{ID: e.ID, Type: e.Type, Depth: i}
	}
	return nodes
}

// chunks returns a copy of es without the trailers.
func chunks(es []core.Entry) []core.Entry {
	return slices.DeleteFunc(slices.Clone(es), func(e core.Entry) bool { return e.Aside })
}
