package operator

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Leaf is the last entry of es that Operator reads or, if that is a leaf entry,
// the entry it points to, or NoLeaf if it points to none. It is the default
// leaf if there is no entry, or if the last one has no id and so cannot be
// named; reading ends at that entry all the same. If Operator reads none of es,
// it is the last entry that has an id.
//
// The target of a leaf entry may be outside of es, and need not exist.
func (Dialect) Leaf(es []core.Entry) core.Leaf {
	_, leaf := currentLeaf(es)
	return leaf
}

// currentLeaf returns the index of the entry that determines the leaf of es, or
// -1 if there is none, and that leaf.
func currentLeaf(es []core.Entry) (int, core.Leaf) {
	named := -1
	for i := len(es) - 1; i >= 0; i-- {
		if isHeader(es[i].Type) {
			continue
		}
		if o, err := read(es[i]); err == nil {
			if es[i].Type != typeLeaf {
				return i, frame.LeafAt(es[i].ID)
			}
			if target, _ := o.Get("target_id").Text(); target != "" {
				return i, core.LeafAt(target)
			}
			return i, core.NoLeaf
		}
		if named < 0 && es[i].ID != "" {
			named = i
		}
	}
	if named < 0 {
		return -1, core.Leaf{}
	}
	return named, core.LeafAt(es[named].ID)
}

// Path returns the entries from the root to leaf, following parents until one
// does not exist or was met before. The default leaf is the current one, even
// at an entry without an id; it is before every entry if a leaf entry points to
// an entry that does not exist. Returns ErrNotFound if leaf names an entry that
// does not exist.
func (Dialect) Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	at, byID, err := find(es, leaf)
	if err != nil {
		return nil, err
	}
	return climb(es, at, byID), nil
}

// climb returns the entries from the root to the one at the place at.
func climb(es []core.Entry, at int, byID map[string]int) []core.Entry {
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
	return path
}

// find returns the index of leaf in es, or -1 if that is before every entry.
func find(es []core.Entry, leaf core.Leaf) (at int, byID map[string]int, err error) {
	if leaf.IsNone() {
		return -1, nil, nil
	}
	byID = index(es)
	id, named := leaf.ID()
	if !named {
		return byDefault(es, byID), byID, nil
	}
	at, ok := byID[id]
	if !ok {
		return -1, nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
	}
	return at, byID, nil
}

// byDefault returns the place of the default leaf.
func byDefault(es []core.Entry, byID map[string]int) int {
	at, leaf := currentLeaf(es)
	if leaf.IsDefault() {
		return at
	}
	id, _ := leaf.ID()
	if at, ok := byID[id]; ok {
		return at
	}
	return -1
}

// index returns the indexes of the entries by id. Of several with one id, it is
// the last one that Operator reads, or else the last one.
func index(es []core.Entry) map[string]int {
	byID := make(map[string]int, len(es))
	for i := range es {
		if es[i].ID == "" || isHeader(es[i].Type) {
			continue
		}
		old, taken := byID[es[i].ID]
		if !taken || isReadable(es[i]) || !isReadable(es[old]) {
			byID[es[i].ID] = i
		}
	}
	return byID
}

func isReadable(e core.Entry) bool {
	_, err := read(e)
	return err == nil
}

// entriesOf returns es without the lines that are headers.
func entriesOf(es []core.Entry) []core.Entry {
	isHeader := func(e core.Entry) bool { return isHeader(e.Type) }
	if !slices.ContainsFunc(es, isHeader) {
		return es
	}
	return slices.DeleteFunc(slices.Clone(es), isHeader)
}
