package tree

import (
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsonl"
)

// Path returns the entries from the root to leaf, following parents until one
// is not there or was met before. The default leaf is the last entry, also
// where that has no id. ErrNotFound for a leaf that is not there.
func Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	at, byID, err := find(es, leaf)
	if err != nil {
		return nil, err
	}
	path := make([]core.Entry, 0, at+1) // for most sessions the path is nearly all there is
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

// LeafID returns the id of the entry that leaf names, nil where it names none
// or one without an id. ErrNotFound for a leaf that is not there.
func LeafID(es []core.Entry, leaf core.Leaf) (*string, error) {
	at, _, err := find(es, leaf)
	if err != nil || at < 0 || es[at].ID == "" {
		return nil, err
	}
	return &es[at].ID, nil
}

// find returns the place of leaf in es, -1 where there is nothing before it.
func find(es []core.Entry, leaf core.Leaf) (at int, byID map[string]int, err error) {
	if leaf.IsNone() {
		return -1, nil, nil
	}
	byID = Index(es)
	id, ok := leaf.ID()
	if !ok {
		return len(es) - 1, byID, nil
	}
	at, ok = byID[id]
	if !ok {
		return -1, nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
	}
	return at, byID, nil
}

// Index returns the places of the entries by id; of several with one id, the
// last.
func Index(es []core.Entry) map[string]int {
	byID := make(map[string]int, len(es))
	for i := range es {
		if es[i].ID != "" {
			byID[es[i].ID] = i
		}
	}
	return byID
}

// Types counts the entries of each type. The type is what JavaScript would
// name a property after it.
func Types(es []core.Entry) map[string]int {
	types := map[string]int{}
	for _, e := range es {
		types[typeOf(e)]++
	}
	return types
}

func typeOf(e core.Entry) string {
	if e.Type != "" {
		return e.Type
	}
	o, err := jsonl.Object(e)
	v := o.Get("type")
	switch {
	case err != nil || v == nil:
		return "undefined"
	case v.Kind() == '"':
		return ""
	}
	return string(v)
}
