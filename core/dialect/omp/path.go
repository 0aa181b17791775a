package omp

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Leaf is the last entry of es, slots aside. It is the default leaf where there
// is none, or where the last one has no id and so cannot be named: reading then
// ends at that entry all the same.
func (Dialect) Leaf(es []core.Entry) core.Leaf { return frame.LastEntry(entriesOf(es)) }

// Path returns the entries from the root to leaf, following parents until one
// is not there or was met before. The default leaf is the last entry, also
// where that has no id. For a leaf that is not there omp takes the last entry;
// here that is ErrNotFound, for nobody who names an entry means another one.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	return tree.Path(entriesOf(es), leaf)
}

// Tree returns the entries in the order in which omp shows them, as tree.Rows
// says. omp does not tell when an entry was labelled.
func (Dialect) Tree(es []core.Entry) []core.TreeNode {
	rows := tree.Rows(entriesOf(es))
	for i := range rows {
		rows[i].LabelTimestamp = nil
	}
	return rows
}
