package engine

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

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

// positions are the indexes of the entries of a chain, for core.Fields.
type positions struct {
	next int // of an entry that is not there yet; 0 where the session is a tree
	byID map[string]int
}

// newPositions counts the entries of st, and those that will follow them.
func newPositions(st *core.State, pending []core.Entry) *positions {
	if !st.Dialect.Linear() {
		return &positions{}
	}
	p := &positions{next: 1, byID: make(map[string]int, len(st.Entries)+len(pending))}
	for _, es := range [][]core.Entry{st.Entries, pending} {
		for _, e := range es {
			p.put(e)
		}
	}
	return p
}

// of returns the position of the entry with that id, or the next one.
func (p *positions) of(id string) int {
	if place, ok := p.byID[id]; ok && id != "" {
		return place
	}
	return p.next
}

// add notes an entry of the request unless it exists.
func (p *positions) add(e core.Entry) {
	if _, ok := p.byID[e.ID]; !ok && p.next > 0 {
		p.put(e)
	}
}

func (p *positions) put(e core.Entry) {
	p.byID[e.ID] = p.next
	if !e.Aside {
		p.next++
	}
}
