package engine

import "github.com/sesslog/sesslog/core"

// A tally counts the entries of a state that are not aside. While entries are only added,
// it counts only the new ones, so an append to a long session does not read all of them.
type tally struct {
	growth *core.Growth
	seen   int // entries read
	inTree int
}

func (t *tally) of(st *core.State) int {
	if t.growth != st.Growth() {
		*t = tally{growth: st.Growth()}
	}
	for ; t.seen < len(st.Entries); t.seen++ {
		if !st.Entries[t.seen].Aside {
			t.inTree++
		}
	}
	return t.inTree
}

// positions are the indexes of the entries of a chain, for core.Fields.
type positions struct {
	st      *core.State
	pending []core.Entry
	next    int            // of an entry that is not there yet; 0 if the session is a tree
	added   map[string]int // those of the request
}

// newPositions counts the entries of st, and those of pending, which follow them.
func newPositions(st *core.State, pending []core.Entry, t *tally) positions {
	if !st.Dialect.Linear() {
		return positions{}
	}
	p := positions{st: st, pending: pending, next: 1 + t.of(st)}
	for i := range pending {
		if !pending[i].Aside {
			p.next++
		}
	}
	return p
}

// of returns the position of the entry with that id, or the next one. It reads the
// session only for an entry that exists, which few appends repeat.
func (p *positions) of(id string) int {
	if place, ok := p.added[id]; ok {
		return place
	}
	if !p.exists(id) {
		return p.next
	}
	place, next := p.next, 1
	for _, es := range [][]core.Entry{p.st.Entries, p.pending} {
		for i := range es {
			if es[i].ID == id {
				place = next
			}
			if !es[i].Aside {
				next++
			}
		}
	}
	return place
}

// add notes an entry of the request unless it exists.
func (p *positions) add(e core.Entry) {
	if _, ok := p.added[e.ID]; ok || p.next == 0 || p.exists(e.ID) {
		return
	}
	if p.added == nil {
		p.added = map[string]int{}
	}
	p.added[e.ID] = p.next
	if !e.Aside {
		p.next++
	}
}

func (p *positions) exists(id string) bool {
	if p.next == 0 {
		return false
	}
	_, ok := findEntry(p.st, p.pending, id)
	return ok
}
