package core

import "slices"

// EndAt returns es in an order in which an agent that reads them as its file
// continues at leaf. Most agents continue at the last line, so the entry that
// leaf names becomes the last. No entry is left out or added, and the order
// stays if the agent would continue at leaf anyway. If the agent does not read
// that entry, it continues at the nearest ancestor that it reads, which is
// equivalent. ok is false if no order achieves it: before every entry, at an
// entry that does not exist, or anywhere but at the end of a linear session.
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

// lastly returns es with every entry called id moved to the end.
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
