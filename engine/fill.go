package engine

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/session"
)

// fill returns q's lines as entries with an id, a parent and a time. A line whose id
// exists, in the session or in the same record, gets the parent and the time of that
// entry, so that a repeated append has identical bytes.
func (q *request) fill(st *core.State, pending []core.Entry) ([]core.Entry, error) {
	leaf := st.Leaf(q.Head)
	if q.from != nil && st.Heads[q.Head] == nil {
		leaf = *q.from
	}
	if core.AnyInTree(pending) {
		leaf = st.Dialect.Leaf(pending)
	}
	at := newPositions(st, pending)
	es := make([]core.Entry, len(q.lines))
	for i, line := range q.lines {
		if q.Loose {
			e, err := st.Dialect.Entry(line)
			if err != nil {
				return nil, &core.LineError{Line: i + 1, Err: err}
			}
			es[i] = e
			continue
		}
		e, err := q.fillLine(st, pending, i, line, leaf, at)
		if err != nil {
			return nil, &core.LineError{Line: i + 1, Err: err}
		}
		at.add(e)
		es[i] = e
		if !e.Aside {
			leaf = st.Dialect.Leaf(es[i : i+1])
		}
	}
	return es, nil
}

func (q *request) fillLine(st *core.State, pending []core.Entry, i int, line []byte, leaf core.Leaf, at *positions) (core.Entry, error) {
	id := q.ids[i]
	if id == "" {
		e, err := st.Dialect.Entry(line)
		if err != nil {
			return e, err
		}
		id = e.ID
	}
	old, ok := findEntry(st, pending, id)
	if !ok {
		return st.Dialect.Fill(line, core.Fields{ID: id, Parent: leaf, Time: q.Time, Position: at.of(id), Header: st.Header})
	}
	parents := []core.Leaf{core.LeafAt(old.Parent)}
	if old.Parent == "" { // a root says so, or says nothing
		parents = []core.Leaf{core.NoLeaf, {}}
	}
	if q.OnConflict == session.Rebase { // an earlier try may have been stored elsewhere
		line = tree.Reparent(st.Dialect, line, parents[0])
	}
	var e core.Entry
	for _, parent := range parents {
		var err error
		e, err = st.Dialect.Fill(line, core.Fields{ID: id, Parent: parent, Time: old.Time, Position: at.of(id), Header: st.Header})
		if err != nil || bytes.Equal(e.Line, old.Line) {
			return e, err
		}
	}
	return e, nil
}

// findEntry returns the entry with that id, of the session or of the record that is
// being built.
func findEntry(st *core.State, pending []core.Entry, id string) (core.Entry, bool) {
	if e, ok := st.Entry(id); ok {
		return e, true
	}
	i := slices.IndexFunc(pending, func(e core.Entry) bool { return e.ID == id })
	if i < 0 || id == "" {
		return core.Entry{}, false
	}
	return pending[i], true
}
