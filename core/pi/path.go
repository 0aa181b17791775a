package pi

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// Leaf is the last entry of es. It is the default leaf where there is none, or
// where the last one has no id and so cannot be named: reading then ends at
// that entry all the same, and what pi appends to it has no parent.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	if last := lastEntry(es); last >= 0 && es[last].ID != "" {
		return core.LeafAt(es[last].ID)
	}
	return core.Leaf{}
}

// Path returns the entries from the root to leaf, following parents until one
// is not there or was met before. The default leaf is the last entry, also
// where that has no id. For a leaf that is not there pi takes the last entry;
// here that is ErrNotFound, for nobody who names an entry means another one.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	at, byID, err := find(es, leaf)
	if err != nil {
		return nil, err
	}
	var path []core.Entry
	seen := make([]bool, len(es))
	for at >= 0 && !seen[at] {
		seen[at] = true
		path = append(path, es[at])
		up, ok := byID[es[at].Parent]
		if !ok {
			break
		}
		at = up
	}
	slices.Reverse(path)
	return path, nil
}

// find returns the place of leaf in es, -1 where there is nothing before it.
func find(es []core.Entry, leaf core.Leaf) (at int, byID map[string]int, err error) {
	if leaf.IsNone() {
		return -1, nil, nil
	}
	byID = index(es)
	id, ok := leaf.ID()
	if !ok {
		return lastEntry(es), byID, nil
	}
	at, ok = byID[id]
	if !ok {
		return -1, nil, fmt.Errorf("entry %q: %w", clip(id, 64), core.ErrNotFound)
	}
	return at, byID, nil
}

// index returns the places of the entries by id; of several with one id, the
// last.
func index(es []core.Entry) map[string]int {
	byID := make(map[string]int, len(es))
	for i := range es {
		if es[i].ID != "" && es[i].Type != typeHeader {
			byID[es[i].ID] = i
		}
	}
	return byID
}

// lastEntry returns the place of the last entry, -1 where there is none.
func lastEntry(es []core.Entry) int {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].Type != typeHeader {
			return i
		}
	}
	return -1
}

// entriesOf returns es without the lines that are headers.
func entriesOf(es []core.Entry) []core.Entry {
	isHeader := func(e core.Entry) bool { return e.Type == typeHeader }
	if !slices.ContainsFunc(es, isHeader) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), isHeader)
}
