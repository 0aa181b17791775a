package pi

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
)

// Leaf is the last entry of es. It is the default leaf where there is none, or
// where the last one has no id and so cannot be named: reading then ends at
// that entry all the same, and what pi appends to it has no parent.
func (Dialect) Leaf(es []core.Entry) core.Leaf { return frame.LastEntry(entriesOf(es)) }

// Path returns the entries from the root to leaf, following parents until one
// is not there or was met before. The default leaf is the last entry, also
// where that has no id. For a leaf that is not there pi takes the last entry;
// here that is ErrNotFound, for nobody who names an entry means another one.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	return tree.Path(entriesOf(es), leaf)
}

// Tree returns the entries in the order in which pi shows them, as tree.Rows
// says.
func (Dialect) Tree(es []core.Entry) []core.TreeNode { return tree.Rows(entriesOf(es)) }

// entriesOf returns es without the lines that are headers.
func entriesOf(es []core.Entry) []core.Entry {
	isHeader := func(e core.Entry) bool { return e.Type == typeHeader }
	if !slices.ContainsFunc(es, isHeader) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), isHeader)
}
