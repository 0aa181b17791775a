package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/display"
)

// Leaf is the last entry of es that is not a slot. It is the default leaf if
// there is none, or if the last one has no id and so cannot be named: reading
// ends at that entry all the same.
func (Dialect) Leaf(es []core.Entry) core.Leaf { return frame.LastEntry(entriesOf(es)) }

// Path returns the entries from the root to leaf, following parents until one
// does not exist or was met before. The default leaf is the last entry, even if
// it has no id. Returns ErrNotFound if leaf names an entry that does not exist;
// omp would take the last entry.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	return tree.Path(entriesOf(es), leaf)
}

// Tree returns the entries in the order in which omp shows them, as tree.Rows
// describes. omp does not record when an entry was labeled.
func (Dialect) Tree(es []core.Entry) []display.TreeNode {
	rows := tree.Rows(entriesOf(es))
	for i := range rows {
		rows[i].LabelTimestamp = nil
	}
	return rows
}
