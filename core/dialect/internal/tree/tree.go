package tree

import (
	"cmp"
	"math"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/date"
	"github.com/sesslog/sesslog/core/display"
)

// Rows returns the entries in the order in which they are shown. Roots are the
// entries without a parent, those that are their own parent and those whose
// parent does not exist, in file order. The children of an entry are sorted by
// time.
//
// Of several entries with one id the last represents all: it is shown as often
// as there are such entries, with its children each time. If that would make
// the tree much longer than the session, children are shown once. Entries that
// no root leads to, because their parents form a cycle, follow at the end; the
// first of them in the file is shown as a root.
func Rows(es []core.Entry) []display.TreeNode {
	t := growTree(es)
	rows, ok := t.rows(4*len(t.nodes) + 16)
	if !ok {
		rows, _ = t.rows(0)
	}
	return rows
}

// A tree is the entries of a session linked by their places among them.
type tree struct {
	nodes    []core.Entry
	labels   map[string]Label
	roots    []int
	children [][]int
	millis   []float64 // when each node was made
}

func growTree(es []core.Entry) *tree {
	t := &tree{nodes: es, labels: Labels(es)}
	byID := Index(t.nodes)
	t.children = make([][]int, len(t.nodes))
	t.millis = make([]float64, len(t.nodes))
	for i, e := range t.nodes {
		t.millis[i] = date.Of(e)
		at := i
		if e.ID != "" {
			at = byID[e.ID]
		}
		parent, ok := byID[e.Parent]
		if !ok || e.Parent == e.ID {
			t.roots = append(t.roots, at)
		} else {
			t.children[parent] = append(t.children[parent], at)
		}
	}
	for _, c := range t.children {
		t.sortByTime(c)
	}
	return t
}

// rows flattens t. If limit is above zero, it stops and reports false at more
// rows than that. Otherwise it shows the children of an entry once.
func (t *tree) rows(limit int) ([]display.TreeNode, bool) {
	type place struct{ node, depth int }
	rows := make([]display.TreeNode, 0, len(t.nodes))
	seen := make([]bool, len(t.nodes))
	var stack []place
	show := func(root int) bool {
		stack = append(stack, place{root, 0})
		for len(stack) > 0 {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			rows = append(rows, t.row(p.node, p.depth))
			if limit > 0 && len(rows) > limit {
				return false
			}
			if limit == 0 && seen[p.node] {
				continue
			}
			seen[p.node] = true
			for _, c := range slices.Backward(t.children[p.node]) {
				stack = append(stack, place{c, p.depth + 1})
			}
		}
		return true
	}
	for _, root := range t.roots {
		if !show(root) {
			return nil, false
		}
	}
	return t.rings(rows, seen), true
}

// rings shows the entries that no root leads to.
func (t *tree) rings(rows []display.TreeNode, seen []bool) []display.TreeNode {
	reached := Index(t.nodes)
	for i, e := range t.nodes {
		if at, ok := reached[e.ID]; ok && at != i {
			seen[i] = true // shown as the last entry of its id
		}
	}
	type place struct{ node, depth int }
	for i := range t.nodes {
		stack := []place{{i, 0}}
		for len(stack) > 0 {
			p := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[p.node] {
				continue
			}
			seen[p.node] = true
			rows = append(rows, t.row(p.node, p.depth))
			for _, c := range slices.Backward(t.children[p.node]) {
				stack = append(stack, place{c, p.depth + 1})
			}
		}
	}
	return rows
}

func (t *tree) row(i, depth int) display.TreeNode {
	e := t.nodes[i]
	row := display.TreeNode{ID: e.ID, Type: e.Type, Depth: depth}
	if l, ok := t.labels[e.ID]; ok && e.ID != "" {
		row.Label = &l.Text
		if l.Time != "" {
			row.LabelTimestamp = &l.Time
		}
	}
	return row
}

// sortByTime sorts nodes as JavaScript's sort does by the difference of their
// times. An invalid time compares as equal to every other, so the result
// depends on the algorithm: V8 sorts up to 64 nodes by insertion.
func (t *tree) sortByTime(nodes []int) {
	byTime := func(a, b int) int {
		if d := t.millis[a] - t.millis[b]; d == d {
			return cmp.Compare(d, 0)
		}
		return 0
	}
	undated := slices.ContainsFunc(nodes, func(i int) bool { return math.IsNaN(t.millis[i]) })
	if !undated || len(nodes) >= 64 {
		slices.SortStableFunc(nodes, byTime)
		return
	}
	insertionSort(nodes, byTime)
}

// insertionSort is V8's sort of a short array: it reverses the first run if
// that descends, and inserts each further item by binary search.
func insertionSort(a []int, by func(a, b int) int) {
	if len(a) < 2 {
		return
	}
	descends := by(a[1], a[0]) < 0
	run := 2
	for run < len(a) && (by(a[run], a[run-1]) < 0) == descends {
		run++
	}
	if descends {
		slices.Reverse(a[:run])
	}
	for i := run; i < len(a); i++ {
		item, low, high := a[i], 0, i
		for low < high {
			if mid := (low + high) / 2; by(item, a[mid]) < 0 {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(a[low+1:i+1], a[low:i])
		a[low] = item
	}
}
