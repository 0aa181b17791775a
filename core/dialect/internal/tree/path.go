package tree

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Path returns the entries from the root to leaf, following parents until one
// does not exist or was met before. The default leaf is the last entry, even if
// it has no id. Returns ErrNotFound if leaf names an entry that does not exist.
func Path(es []core.Entry, leaf core.Leaf) ([]core.Entry, error) {
	at, places, err := find(es, leaf)
	if err != nil {
		return nil, err
	}
	// Filled from its end. For most sessions the path is nearly all there is.
	path := make([]core.Entry, len(es))
	first := len(path)
	seen := make([]bool, len(es))
	for at >= 0 && !seen[at] {
		seen[at] = true
		first--
		path[first] = es[at]
		at = places.of(es[at].Parent)
	}
	return path[first:], nil
}

// LeafID returns the id of the entry that leaf names, or nil if leaf names
// none, or one without an id. Returns ErrNotFound if leaf names an entry that
// does not exist.
func LeafID(es []core.Entry, leaf core.Leaf) (*string, error) {
	at, _, err := find(es, leaf)
	if err != nil || at < 0 || es[at].ID == "" {
		return nil, err
	}
	return &es[at].ID, nil
}

// find returns the index of leaf in es, or -1 for NoLeaf.
func find(es []core.Entry, leaf core.Leaf) (int, *places, error) {
	if leaf.IsNone() {
		return -1, nil, nil
	}
	places := placesOf(es)
	id, ok := leaf.ID()
	if !ok {
		return len(es) - 1, places, nil
	}
	at := places.of(id)
	if at < 0 {
		return -1, nil, fmt.Errorf("entry %q: %w", jsonl.Clip(id, 64), core.ErrNotFound)
	}
	return at, places, nil
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
