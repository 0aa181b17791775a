package lineage

import (
	"slices"

	"github.com/sesslog/sesslog/core"
)

// A Graph is sessions and which came from which. It does not change; its
// methods may be called from several goroutines. What they return is the
// caller's.
type Graph struct {
	nodes    []Node
	at       map[core.SessionID]int
	children map[core.SessionID][]core.SessionID // in the order of nodes, each once
	// elsewhere are parents that Only left out: they exist.
	elsewhere map[core.SessionID]bool
}

// New returns the graph of nodes, in their order. Of several with one id the
// last counts, at the place of the first.
func New(nodes []Node) *Graph {
	g := &Graph{
		nodes:    make([]Node, 0, len(nodes)),
		at:       make(map[core.SessionID]int, len(nodes)),
		children: map[core.SessionID][]core.SessionID{},
	}
	for _, n := range nodes {
		if i, ok := g.at[n.ID]; ok {
			g.nodes[i] = n
			continue
		}
		g.at[n.ID] = len(g.nodes)
		g.nodes = append(g.nodes, n)
	}
	for i := range g.nodes {
		n := &g.nodes[i]
		for _, p := range n.Parents {
			// Children come in order, so a parent named twice is the last.
			if kids := g.children[p.Session]; len(kids) == 0 || kids[len(kids)-1] != n.ID {
				g.children[p.Session] = append(kids, n.ID)
			}
		}
	}
	return g
}

// Whole returns g with a Node of state Missing added at the end for every
// parent that g lacks, so that a picture shows where a session came from even
// if that is gone.
func (g *Graph) Whole() *Graph {
	var gone []Node
	added := map[core.SessionID]bool{}
	for i := range g.nodes {
		for _, p := range g.nodes[i].Parents {
			if _, ok := g.at[p.Session]; !ok && !added[p.Session] {
				added[p.Session] = true
				gone = append(gone, Node{ID: p.Session, Stamp: Stamp{Kind: Unknown}, State: Missing})
			}
		}
	}
	if gone == nil {
		return g
	}
	return New(append(slices.Clone(g.nodes), gone...))
}

// Nodes returns the nodes in order.
func (g *Graph) Nodes() []Node { return slices.Clone(g.nodes) }

// Node returns the session called id.
func (g *Graph) Node(id core.SessionID) (Node, bool) {
	i, ok := g.at[id]
	if !ok {
		return Node{}, false
	}
	return g.nodes[i], true
}

// Children returns the sessions that name id as a parent, in order, each once.
func (g *Graph) Children(id core.SessionID) []core.SessionID { return slices.Clone(g.children[id]) }

// Ancestors returns the sessions that id came from, the nearest first, each
// once. id is among them only if it came from itself. Returns an *Error if id
// or one of them is not in the graph.
func (g *Graph) Ancestors(id core.SessionID) ([]core.SessionID, error) {
	start, ok := g.Node(id)
	if !ok {
		return nil, &Error{Missing: id}
	}
	var found []core.SessionID
	seen := map[core.SessionID]bool{}
	for queue := []Node{start}; len(queue) > 0; queue = queue[1:] {
		for _, p := range queue[0].Parents {
			if seen[p.Session] {
				continue
			}
			n, ok := g.Node(p.Session)
			if !ok {
				return nil, &Error{Session: queue[0].ID, Missing: p.Session}
			}
			seen[p.Session] = true
			found = append(found, p.Session)
			queue = append(queue, n)
		}
	}
	return found, nil
}

// Descendants returns the sessions that came from id, each once: parents before
// children, siblings in order. id is among them only if it came from itself.
// Returns an *Error if id is not in the graph.
func (g *Graph) Descendants(id core.SessionID) ([]core.SessionID, error) {
	if _, ok := g.at[id]; !ok {
		return nil, &Error{Missing: id}
	}
	var found []core.SessionID
	seen := map[core.SessionID]bool{}
	stack := [][]core.SessionID{g.children[id]} // sessions left to visit at each depth
	for len(stack) > 0 {
		top := len(stack) - 1
		if len(stack[top]) == 0 {
			stack = stack[:top]
			continue
		}
		next := stack[top][0]
		stack[top] = stack[top][1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		found = append(found, next)
		stack = append(stack, g.children[next])
	}
	return found, nil
}

// Only returns the graph of those of ids that g has, in g's order. Parents that
// are not among ids are still named, and Validate accepts them.
func (g *Graph) Only(ids []core.SessionID) *Graph {
	wanted := make(map[core.SessionID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	var nodes []Node
	for i := range g.nodes {
		if wanted[g.nodes[i].ID] {
			nodes = append(nodes, g.nodes[i])
		}
	}
	only := New(nodes)
	only.elsewhere = map[core.SessionID]bool{}
	for i := range nodes {
		for _, p := range nodes[i].Parents {
			if n, ok := g.Node(p.Session); ok && !wanted[p.Session] && n.State != Missing || g.elsewhere[p.Session] {
				only.elsewhere[p.Session] = true
			}
		}
	}
	return only
}

// An Edge is a step from one session to another that came from it.
type Edge struct {
	Producer core.SessionID `json:"from"`
	Consumer core.SessionID `json:"to"`
	Kind     Kind           `json:"kind"`
}

// Edges returns every parent of every session, in the order of the sessions and
// of their parents. A session that was merged with itself gives two.
func (g *Graph) Edges() []Edge {
	var es []Edge
	for i := range g.nodes {
		for _, p := range g.nodes[i].Parents {
			es = append(es, Edge{p.Session, g.nodes[i].ID, p.Kind})
		}
	}
	return es
}
