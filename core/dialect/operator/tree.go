package operator

import (
	"cmp"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// Tree returns every entry once, in the order in which Operator shows them:
// roots and the children of an entry are sorted by time, then by their order in
// the file, with those without a time last. Roots are the entries without a
// parent, those that are their own parent, those whose parent does not exist,
// and the oldest entry of each cycle of parents.
func (Dialect) Tree(es []core.Entry) []display.TreeNode {
	t := growTree(entriesOf(es))
	labels := labelsOf(es)
	type place struct{ node, depth int }
	var stack []place
	push := func(nodes []int, depth int) {
		for _, n := range slices.Backward(nodes) {
			stack = append(stack, place{n, depth})
		}
	}
	rows := make([]display.TreeNode, 0, len(t.nodes))
	push(t.roots, 0)
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		rows = append(rows, rowOf(t.nodes[p.node], p.depth, labels))
		push(t.children[p.node], p.depth+1)
	}
	return rows
}

func rowOf(e core.Entry, depth int, labels map[string]label) display.TreeNode {
	row := display.TreeNode{ID: e.ID, Type: e.Type, Depth: depth}
	if l, ok := labels[e.ID]; ok && e.ID != "" {
		row.Label = &l.text
		if l.time != "" {
			row.LabelTimestamp = &l.time
		}
	}
	return row
}

// Children returns the entries whose parent is the entry called id, oldest
// first.
func Children(es []core.Entry, id string) []core.Entry {
	var found []core.Entry
	for _, e := range entriesOf(es) {
		if e.Parent == id && id != "" {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b core.Entry) int { return cmp.Compare(madeAt(a), madeAt(b)) })
	return found
}

// A tree is the entries of a session linked by their places among them.
type tree struct {
	nodes    []core.Entry
	made     []float64 // when each node was made
	parent   []int     // of each node, -1 for a root
	roots    []int
	children [][]int
}

func growTree(nodes []core.Entry) *tree {
	t := &tree{
		nodes:    nodes,
		made:     make([]float64, len(nodes)),
		parent:   make([]int, len(nodes)),
		children: make([][]int, len(nodes)),
	}
	byID := index(nodes)
	for i, e := range nodes {
		t.made[i] = madeAt(e)
		parent, ok := byID[e.Parent]
		if !ok || e.Parent == e.ID {
			parent = -1
		}
		t.parent[i] = parent
	}
	t.cutRings()
	for i, p := range t.parent {
		if p < 0 {
			t.roots = append(t.roots, i)
		} else {
			t.children[p] = append(t.children[p], i)
		}
	}
	for _, nodes := range append(t.children, t.roots) {
		slices.SortStableFunc(nodes, t.compare)
	}
	return t
}

func (t *tree) compare(a, b int) int { return cmp.Compare(t.made[a], t.made[b]) }

// cutRings makes the oldest entry of each ring of parents a root.
func (t *tree) cutRings() {
	walk := make([]int, len(t.nodes)) // the walk that met each node, from 1
	for i := range t.nodes {
		at := i
		for at >= 0 && walk[at] == 0 {
			walk[at] = i + 1
			at = t.parent[at]
		}
		if at < 0 || walk[at] != i+1 {
			continue
		}
		oldest := at
		for n := t.parent[at]; n != at; n = t.parent[n] {
			if c := t.compare(n, oldest); c < 0 || c == 0 && n < oldest {
				oldest = n
			}
		}
		t.parent[oldest] = -1
	}
}
