package tree

import (
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// EndAt returns es in an order in which an agent that reads them as its file
// continues at leaf. Most agents continue at the last line, so the entry that
// leaf names becomes the last. No entry is left out or added, and the order
// stays if the agent would continue at leaf anyway. If the agent does not read
// that entry, it continues at the nearest ancestor that it reads, which is
// equivalent. ok is false if no order achieves it: before every entry, at an
// entry that does not exist, or anywhere but at the end of a linear session.
func EndAt(d core.Dialect, es []core.Entry, leaf core.Leaf) (ordered []core.Entry, ok bool) {
	if leaf.IsDefault() || leaf.IsNone() && (d.Leaf(es) == leaf || !core.AnyInTree(es)) {
		return es, true
	}
	if _, ok := d.(core.Linker); ok { // a line says where it continues, not the order
		return es, d.Leaf(es) == leaf
	}
	path, err := d.Path(es, leaf)
	if err != nil {
		return es, false
	}
	for _, e := range slices.Backward(path) {
		at := core.LeafAt(e.ID)
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
func isRead(d core.Dialect, e core.Entry) bool {
	c, ok := d.(optional.Checker)
	return !ok || c.Check(e.Line) == nil
}

// lastly returns es with every entry called id moved to the end.
func lastly(es []core.Entry, id string) []core.Entry {
	moved := make([]core.Entry, 0, len(es))
	var last []core.Entry
	for _, e := range es {
		if e.ID == id && !e.Aside {
			last = append(last, e)
			continue
		}
		moved = append(moved, e)
	}
	return append(moved, last...)
}
