package core

import "slices"

// EndAt returns es in an order in which an agent that reads them as its file
// goes on at leaf: most agents take the last line for where they stand, so the
// entry that leaf names is the last. No entry is left out or added, and where
// the agent would go on at leaf anyway the order stays. An agent that does not
// read that entry itself goes on at the nearest one above that it reads, which
// is the same to it. ok is false where no order says it: before every entry, at
// one that is not there, and for a linear session anywhere but at its end.
func EndAt(d Dialect, es []Entry, leaf Leaf) (ordered []Entry, ok bool) {
	if leaf.IsDefault() || leaf.IsNone() && (d.Leaf(es) == leaf || !AnyInTree(es)) {
		return es, true
	}
	path, err := d.Path(es, leaf)
	if err != nil {
		return es, false
	}
	for _, e := range slices.Backward(path) {
		at := LeafAt(e.ID)
		if e.ID == "" || !isRead(d, e) {
			continue
		}
		if d.Leaf(es) == at {
			return es, true
		}
		if moved := lastly(es, e.ID); !d.Linear() && d.Leaf(moved) == at {
			return moved, true
		}
	}
	return es, false
}

// isRead reports whether d's agent has e in its session at all.
func isRead(d Dialect, e Entry) bool {
	c, ok := d.(Checker)
	return !ok || c.Check(e.Line) == nil
}

// lastly returns es with every entry called id behind the others.
func lastly(es []Entry, id string) []Entry {
	moved := make([]Entry, 0, len(es))
	var last []Entry
	for _, e := range es {
		if e.ID == id && !e.Aside {
			last = append(last, e)
			continue
		}
		moved = append(moved, e)
	}
	return append(moved, last...)
}
