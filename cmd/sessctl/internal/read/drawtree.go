package read

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
)

// minFold is the least number of entries in a row that are folded.
const minFold = 3

// A drawing is a tree that is being printed.
type drawing struct {
	shape
	nodes []display.TreeNode
	marks map[string][]string // the heads at each entry
	words map[string]words
	path  []bool // on the way to main
}

// drawTree draws nodes, with marks at some of them. Unless all is set, it folds the
// steps between prompts.
func (a app) drawTree(nodes []display.TreeNode, marks map[string][]string, texts map[string]words, all bool) error {
	d := drawing{shape: shapeOf(nodes), nodes: nodes, marks: marks, words: texts}
	d.path = d.pathToMain()
	var b strings.Builder
	for i := 0; i < len(nodes); {
		steps := 0
		for !all && i+steps < len(nodes) && d.isStep(i+steps) {
			steps++
		}
		if steps >= minFold {
			b.WriteString(d.before[i] + a.Stdout.Paint(cli.Dim, "(+"+cli.Count(steps, "entry", "entries")+")") + "\n")
			i += steps
			continue
		}
		for end := i + max(steps, 1); i < end; i++ {
			b.WriteString(a.treeRow(&d, i) + "\n")
		}
	}
	return a.PrintPage(b.String())
}

// isStep reports whether node i only leads from its parent to its child.
func (d *drawing) isStep(i int) bool {
	n := d.nodes[i]
	p := d.parent[i]
	switch {
	case p < 0, d.kids[p] != 1, d.kids[i] != 1:
		return false
	case n.Label != nil, len(d.marks[n.ID]) > 0:
		return false
	case n.Type == "compaction", n.Type == "branch_summary", n.Type == "summary":
		return false
	}
	return d.words[n.ID].who != "user"
}

// pathToMain returns which nodes are on the way to the head main. Without that head,
// it is the way to any marked node, and all nodes if none is marked.
func (d *drawing) pathToMain() []bool {
	path := make([]bool, len(d.nodes))
	end := -1
	for i, n := range d.nodes {
		if names := d.marks[n.ID]; len(names) > 0 && (end < 0 || slices.Contains(names, core.MainHead)) {
			end = i
		}
	}
	if end < 0 {
		for i := range path {
			path[i] = true
		}
	}
	for ; end >= 0; end = d.parent[end] {
		path[end] = true
	}
	return path
}

// treeRow returns the line of node i: its id, who speaks or its type, its label, the
// heads at it, and what was said.
func (a app) treeRow(d *drawing, i int) string {
	n := d.nodes[i]
	text := d.words[n.ID]
	cells := []struct {
		text  string
		color cli.Color
	}{
		{cli.Plain(n.ID), cli.Yellow},
		{cli.Plain(cmp.Or(text.who, n.Type)), cli.Cyan},
		{"", cli.Bold},
		{"", cli.Green},
		{cli.Plain(text.text), ""},
	}
	if n.Label != nil {
		cells[2].text = "[" + cli.Plain(*n.Label) + "]"
	}
	if at := d.marks[n.ID]; len(at) > 0 && n.ID != "" {
		cells[3].text = "<- " + cli.Plain(strings.Join(at, ", "))
	}
	row, used := d.before[i], cli.Columns(d.before[i])
	for _, c := range cells {
		if c.text == "" {
			continue
		}
		if !d.path[i] {
			c.color = cli.Dim
		}
		c.text = a.Stdout.Fit(c.text, used)
		row += a.Stdout.Paint(c.color, c.text) + "  "
		used += cli.Columns(c.text) + 2
	}
	return strings.TrimRight(row, " ")
}
