package engine

import (
	"crypto/sha256"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/optional"
)

// completion returns the entry that the agent itself adds after those of q, if
// any. pending are the entries of the record, those from before on are q's. Its id
// is derived from the entry that it follows.
func completion(st *core.State, pending []core.Entry, before int, q *request) []core.Entry {
	d, ok := st.Dialect.(optional.Completer)
	if !ok || q.Loose || before == len(pending) {
		return nil
	}
	es := append(st.Entries[:len(st.Entries):len(st.Entries)], pending[:before]...)
	line := d.Complete(st.Header, es, pending[before:])
	if line == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(string(st.ID) + "\x00complete\x00" + pending[len(pending)-1].ID))
	e, err := st.Dialect.Fill(line, core.Fields{
		ID: st.Dialect.EntryID([16]byte(sum[:16])), Parent: st.Dialect.Leaf(pending), Time: q.Time, Position: len(es) + len(pending) - before + 1,
	})
	if _, taken := findEntry(st, pending, e.ID); err != nil || taken {
		return nil
	}
	return []core.Entry{e}
}
