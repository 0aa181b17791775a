package read

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A forest draws sessions below their parents. The sessions can form any graph,
// even with cycles.
type forest struct {
	g     *lineage.Graph
	nodes []lineage.Node
	drawn map[core.SessionID]bool
	out   []treeLine
}

// A treeLine is a line of the drawing.
type treeLine struct {
	before string // the lines and branches in front of it
	node   lineage.Node
	parent *lineage.Parent // the parent above it, nil for a root
	again  bool            // whether it was drawn before
	alone  bool            // whether it has no relatives
}

func newForest(nodes []lineage.Node) *forest {
	return &forest{g: lineage.New(nodes), nodes: nodes, drawn: map[core.SessionID]bool{}}
}

// lines returns every session: first the roots with their descendants, then the
// sessions of cycles.
func (f *forest) lines() []treeLine {
	for _, n := range f.nodes {
		if !f.hangs(n) {
			f.draw(n)
		}
	}
	for _, n := range f.nodes {
		if !f.drawn[n.ID] {
			f.draw(n)
		}
	}
	return f.out
}

// hangs reports whether a parent of n is in the graph.
func (f *forest) hangs(n lineage.Node) bool {
	for _, p := range n.Parents {
		if _, ok := f.g.Node(p.Session); ok {
			return true
		}
	}
	return false
}

// A twig is a session on the stack of draw.
type twig struct {
	treeLine
	below string // the lines and branches in front of it of what hangs on it
	level int
}

// draw draws root and its descendants. It uses a stack instead of recursion,
// because a chain of forks can be long.
func (f *forest) draw(root lineage.Node) {
	for stack := []twig{{treeLine: treeLine{node: root}}}; len(stack) > 0; {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		t.again = f.drawn[t.node.ID]
		kids := f.g.Children(t.node.ID)
		t.alone = len(kids) == 0 && len(t.node.Parents) == 0
		f.out = append(f.out, t.treeLine)
		if t.again {
			continue
		}
		f.drawn[t.node.ID] = true
		for i := len(kids) - 1; i >= 0; i-- {
			kid, _ := f.g.Node(kids[i])
			next := twig{treeLine: treeLine{node: kid, parent: link(kid, t.node.ID)}, level: t.level + 1}
			next.before, next.below = branch(t.below, next.level, i == len(kids)-1)
			stack = append(stack, next)
		}
	}
}

// link returns the relation of kid to parent.
func link(kid lineage.Node, parent core.SessionID) *lineage.Parent {
	for i := range kid.Parents {
		if kid.Parents[i].Session == parent {
			return &kid.Parents[i]
		}
	}
	return nil
}
