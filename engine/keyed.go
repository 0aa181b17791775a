package engine

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// shortIDs is how many entries of a session may have a short id that is derived
// from a request. With 8 hexadecimal digits, as pi has them, a later request would
// get the id of another entry too often: of 100,000 requests, most sessions would
// refuse one.
const shortIDs = 256

// DerivedID returns the id of a line that the request is derived from, either short
// or long: the one that the session or pending has, else the one to store it with.
// n is the number of lines of the same request before it. An entry at or after
// shortIDs with the id short is another line's, whose agent chose the id.
func DerivedID(st *core.State, pending []core.Entry, n int, short, long string) string {
	if _, ok := findEntry(st, pending, long); ok {
		return long
	}
	at, ok := st.Index(short)
	if !ok {
		at = slices.IndexFunc(pending, func(e core.Entry) bool { return e.ID == short })
		if ok = at >= 0; ok {
			at += len(st.Entries)
		}
	}
	if !ok {
		at = len(st.Entries) + len(pending) + n
	}
	if at < shortIDs {
		return short
	}
	return long
}

// idOfLine returns the id that q gives line i; empty if the line has its own.
func (q *request) idOfLine(st *core.State, pending []core.Entry, i int) string {
	if q.ids[i] == "" || q.LongID == nil {
		return q.ids[i]
	}
	return DerivedID(st, pending, i, q.ids[i], q.LongID(i))
}
