package pi

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/tree"
	"github.com/sesslog/sesslog/core/display"
)

// Leaf is the last entry of es. It is the default leaf if there is none, or if
// the last one has no id and so cannot be named: reading ends at that entry all
// the same, and what pi appends to it has no parent.
func (Dialect) Leaf(es []core.Entry) core.Leaf { return frame.LastEntry(entriesOf(es)) }

// Path returns the entries from the root to leaf, following parents until one
// does not exist or was met before. The default leaf is the last entry, even if
// it has no id. Returns ErrNotFound if leaf names an entry that does not exist;
// pi would take the last entry.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	return tree.Path(entriesOf(es), leaf)
}

// Tree returns the entries in the order in which pi shows them, as tree.Rows
// describes.
func (Dialect) Tree(es []core.Entry) []display.TreeNode { return tree.Rows(entriesOf(es)) }

// entriesOf returns es without the lines that are headers.
func entriesOf(es []core.Entry) []core.Entry {
	isHeader := func(e core.Entry) bool { return e.Type == typeHeader }
	if !slices.ContainsFunc(es, isHeader) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), isHeader)
}
