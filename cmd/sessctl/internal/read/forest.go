package read

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A forest is sessions on their way to be drawn below the ones they came from.
// They may form any graph, also one that goes in circles.
type forest struct {
	g     *lineage.Graph
	nodes []lineage.Node
	drawn map[core.SessionID]bool
	out   []treeLine
}

// A treeLine is a session where it is drawn.
type treeLine struct {
	before string // what is drawn in front
	node   lineage.Node
	parent *lineage.Parent // the one it hangs below, nil for a root
	again  bool            // it was drawn already
	alone  bool            // it has neither parents nor children
}

func newForest(nodes []lineage.Node) *forest {
	return &forest{g: lineage.New(nodes), nodes: nodes, drawn: map[core.SessionID]bool{}}
}

// lines returns every session: first those that came from nowhere that is
// shown, each with what hangs below it, then those that came from each other.
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

// hangs reports whether a parent of n is shown.
func (f *forest) hangs(n lineage.Node) bool {
	for _, p := range n.Parents {
		if _, ok := f.g.Node(p.Session); ok {
			return true
		}
	}
	return false
}

// A twig is a session that is to be drawn.
type twig struct {
	treeLine
	below string // what is drawn in front of what hangs on it
	level int
}

// draw draws root and all that hangs below it. It keeps its own stack: a chain
// of forks may be as long as the log.
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

// link is how kid names parent.
func link(kid lineage.Node, parent core.SessionID) *lineage.Parent {
	for i := range kid.Parents {
		if kid.Parents[i].Session == parent {
			return &kid.Parents[i]
		}
	}
	return nil
}
