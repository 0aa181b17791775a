package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/session"
)

// fill returns q's lines as entries with an id, a parent and a time. A line whose id
// exists, in the session or in the same record, gets the parent and the time of that
// entry, so that a repeated append has identical bytes.
func (q *request) fill(st *core.State, pending []core.Entry, t *tally) ([]core.Entry, error) {
	leaf := st.Leaf(q.Head)
	if q.from != nil && st.Heads[q.Head] == nil {
		leaf = *q.from
	}
	if core.AnyInTree(pending) {
		leaf = st.Dialect.Leaf(pending)
	}
	at := newPositions(st, pending, t)
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
		e, err := q.fillLine(st, pending, i, line, leaf, &at)
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
	id := q.idOfLine(st, pending, i)
	if id == "" {
		e, err := st.Dialect.Entry(line)
		if err != nil {
			return e, err
		}
		id = e.ID
	}
	if id != q.ids[i] && q.ids[i] != "" { // a version before DerivedID may have stored it
		if old, ok := findEntry(st, pending, q.ids[i]); ok {
			if e, err := q.again(st, line, old, at); err == nil && bytes.Equal(e.Line, old.Line) {
				return e, nil
			}
		}
	}
	if old, ok := findEntry(st, pending, id); ok {
		return q.again(st, line, old, at)
	}
	return st.Dialect.Fill(line, core.Fields{ID: id, Parent: leaf, Time: q.Time, Position: at.of(id), Header: st.Header})
}

// again fills line as if it were the first attempt to store old.
func (q *request) again(st *core.State, line []byte, old core.Entry, at *positions) (core.Entry, error) {
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
		e, err = st.Dialect.Fill(line, core.Fields{ID: old.ID, Parent: parent, Time: old.Time, Position: at.of(old.ID), Header: st.Header})
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

// complete returns pending with the entry that the agent itself adds among those
// of q, if any. pending are the entries of the record, those from before on are q's.
// Its id is derived from the entry that it follows.
func complete(st *core.State, pending []core.Entry, before int, q *request) []core.Entry {
	d, ok := st.Dialect.(optional.Completer)
	if !ok || q.Loose || before == len(pending) {
		return pending
	}
	es := append(st.Entries[:len(st.Entries):len(st.Entries)], pending[:before]...)
	line, n := d.Complete(st.Header, es, pending[before:])
	if line == nil {
		return pending
	}
	at := before + n
	sum := sha256.Sum256([]byte(string(st.ID) + "\x00complete\x00" + pending[at-1].ID))
	e, err := st.Dialect.Fill(line, core.Fields{
		ID: st.Dialect.EntryID([16]byte(sum[:16])), Parent: st.Dialect.Leaf(pending[:at]), Time: q.Time, Position: len(es) + n + 1,
	})
	if _, taken := findEntry(st, pending, e.ID); err != nil || taken {
		return pending
	}
	return slices.Insert(pending, at, e)
}

// checkHeadAllowed returns ErrInvalid if the session is a single chain and head is
// not main.
func checkHeadAllowed(st *core.State, head string) error {
	if head == core.MainHead || st.Dialect == nil || !st.Dialect.Linear() {
		return nil
	}
	return chainError(st)
}

// chainError says why the session has no branches.
func chainError(st *core.State) error {
	return fmt.Errorf("a session of %s is one chain, it has only the head main; fork it with: sessctl fork %s: %w",
		st.Dialect.Name(), st.ID, core.ErrInvalid)
}
