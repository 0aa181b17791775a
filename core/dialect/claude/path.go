package claude

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/display"
)

// Path returns the entries from the root to leaf. Across a compaction it has the
// history before it.
func (d Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	if leaf.IsDefault() {
		leaf = d.Leaf(es)
	}
	return tree.Path(inTree(es), leaf)
}

// Tree returns the entries that have a place in the tree.
func (Dialect) Tree(es []core.Entry) []display.TreeNode { return tree.Rows(inTree(es)) }

// inTree returns es without those that have no place in the tree.
func inTree(es []core.Entry) []core.Entry {
	aside := func(e core.Entry) bool { return e.Aside }
	if !slices.ContainsFunc(es, aside) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), aside)
}
