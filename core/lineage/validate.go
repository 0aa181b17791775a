package lineage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// An Error says what is inconsistent in a graph. It is a core.ErrNotFound if a
// session is missing, and a core.ErrInvalid if sessions came from each other.
type Error struct {
	Session core.SessionID   // that names Missing as a parent; empty if the caller did
	Missing core.SessionID   // the session that does not exist
	Cycle   []core.SessionID // each came from the one before, the first from the last
}

func (e *Error) Error() string {
	switch {
	case len(e.Cycle) == 1:
		return fmt.Sprintf("session %s names itself as its parent", e.Cycle[0])
	case len(e.Cycle) > 0:
		return "sessions came from each other: " + cycleText(e.Cycle)
	case e.Session == "":
		return fmt.Sprintf("session %s is not in the graph", e.Missing)
	}
	return fmt.Sprintf("session %s came from %s, which does not exist", e.Session, e.Missing)
}

// cycleText names a cycle, or the beginning of a long one.
func cycleText(ids []core.SessionID) string {
	const most = 8
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, string(id))
	}
	if len(ids) > most {
		names = append(names, fmt.Sprintf("%d more", len(ids)-most))
	}
	return strings.Join(append(names, string(ids[0])), " -> ")
}

// Unwrap returns core.ErrNotFound or core.ErrInvalid.
func (e *Error) Unwrap() error {
	if len(e.Cycle) > 0 {
		return core.ErrInvalid
	}
	return core.ErrNotFound
}

// Validate returns an *Error for the first session with a missing parent,
// including one that Whole added, or otherwise for sessions that came from each
// other. Returns nil if there are neither.
func (g *Graph) Validate() error {
	for i := range g.nodes {
		for _, p := range g.nodes[i].Parents {
			if n, ok := g.Node(p.Session); (!ok || n.State == Missing) && !g.elsewhere[p.Session] {
				return &Error{Session: g.nodes[i].ID, Missing: p.Session}
			}
		}
	}
	if c := g.cycle(); c != nil {
		return &Error{Cycle: c}
	}
	return nil
}

// cycle returns sessions that came from each other, parents first, or nil if
// there are none. Every parent must exist, or be elsewhere.
func (g *Graph) cycle() []core.SessionID {
	left := make([]int, len(g.nodes)) // parents not known to be on no cycle
	var free []int
	for i := range g.nodes {
		for _, p := range g.nodes[i].Parents {
			if !g.elsewhere[p.Session] {
				left[i]++
			}
		}
		if left[i] == 0 {
			free = append(free, i)
		}
	}
	for ; len(free) > 0; free = free[1:] {
		id := g.nodes[free[0]].ID
		for _, kid := range g.children[id] {
			at := g.at[kid]
			for _, p := range g.nodes[at].Parents {
				if p.Session == id {
					left[at]--
				}
			}
			if left[at] == 0 {
				free = append(free, at)
			}
		}
	}
	start := slices.IndexFunc(left, func(n int) bool { return n > 0 })
	if start < 0 {
		return nil
	}
	// Each remaining session has a remaining parent, so following parents ends in a cycle.
	var way []int
	met := map[int]int{}
	for at := start; ; at = g.leftParent(at, left) {
		if from, ok := met[at]; ok {
			way = way[from:]
			break
		}
		met[at] = len(way)
		way = append(way, at)
	}
	ids := make([]core.SessionID, len(way))
	for i, at := range way {
		ids[len(way)-1-i] = g.nodes[at].ID
	}
	return ids
}

// leftParent is the first parent of the node at that is left.
func (g *Graph) leftParent(at int, left []int) int {
	for _, p := range g.nodes[at].Parents {
		if up, ok := g.at[p.Session]; ok && left[up] > 0 {
			return up
		}
	}
	return at
}
