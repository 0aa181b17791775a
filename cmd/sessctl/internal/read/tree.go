package read

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/display"
)

func treeCmd(a app) *cobra.Command {
	var p profileFlag
	var all bool
	cmd := &cobra.Command{
		Use:   "tree SESSION",
		Short: "Show a session's entries as a tree",
		Long: `Shows the entries in the order of their agent: parents before children, children
oldest first. A branch is drawn if an entry has several children. [label] is the
entry's label, and <- marks the leaf, with the names of the heads that point to
it. Entries that are not on the path to main are dim. --profile shows the order of
another agent.

Only prompts, branches, labels, heads, compactions and the end of each branch are
shown; the number of the other entries is shown between them. --all shows every
entry.

With -o json: a list in that order, each with id, type and depth (0 for a root),
and label and labelTimestamp if there is one.`,
		Example: `sessctl tree 019a
sessctl tree 019a --all
sessctl tree session.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := p.check(); err != nil {
				return err
			}
			return a.tree(ctx, args[0], p, all)
		}),
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show every entry")
	p.add(cmd)
	a.Demand.Add(cmd)
	return cmd
}

func (a app) tree(ctx context.Context, arg string, p profileFlag, all bool) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	if src.File != nil {
		f, leaf, err := p.read(src.File, cli.ViewFlags{})
		if err != nil {
			return err
		}
		nodes := f.Rules.Tree(f.Entries)
		if a.Format == cli.JSON {
			return a.PrintJSON(cli.NotNil(nodes))
		}
		marks := map[string][]string{}
		if id, ok := leaf.ID(); ok {
			marks[id] = []string{"leaf"}
		}
		a.NoteSkipped(f)
		return a.drawTree(nodes, marks, previewsOf(f.Rules, f.Entries), all)
	}
	nodes, err := src.Node.TreeBy(ctx, src.ID, p.name)
	if err != nil {
		return err
	}
	if a.Format == cli.JSON {
		return a.PrintJSON(cli.NotNil(nodes))
	}
	marks, previews, err := describeNodes(ctx, src)
	if err != nil {
		return err
	}
	return a.drawTree(nodes, marks, previews, all)
}

// describeNodes returns the heads at each entry, and a preview of each entry.
func describeNodes(ctx context.Context, src cli.Source) (marks map[string][]string, previews map[string]words, err error) {
	info, err := src.Node.Info(ctx, src.ID)
	if err != nil {
		return nil, nil, err
	}
	marks = map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(info.Log.Heads)) {
		if head := info.Log.Heads[name]; head != nil {
			if id, ok := head.Leaf.ID(); ok {
				marks[id] = append(marks[id], name)
			}
		}
	}
	d, err := dialect.Named(info.Log.Dialect)
	if err != nil {
		return nil, nil, err
	}
	body, err := src.Node.Entries(ctx, src.ID, false, client.View{})
	if err != nil {
		return nil, nil, err
	}
	defer body.Close()
	previews = map[string]words{}
	err = cli.EachLine(body, func(line []byte) error {
		if e, err := d.Entry(line); err == nil {
			previews[e.ID] = wordsOf(d, e)
		}
		return nil
	})
	return marks, previews, err
}

func previewsOf(d core.Dialect, es []core.Entry) map[string]words {
	previews := make(map[string]words, len(es))
	for _, e := range es {
		previews[e.ID] = wordsOf(d, e)
	}
	return previews
}

// maxBranches limits the indentation.
const maxBranches = 24

// A shape is how nodes hang together, and how that is drawn. An only child is drawn
// below its parent without a branch.
type shape struct {
	parent []int    // of each node, -1 for a root
	kids   []int    // how many children each node has
	before []string // the lines and branches in front of each node
}

func shapeOf(nodes []display.TreeNode) shape {
	parent, kids := display.Parents(nodes)
	own := make([]string, len(nodes))
	below := make([]string, len(nodes)) // the prefix of its children
	level := make([]int, len(nodes))
	shown := make([]int, len(nodes)) // children so far
	for i := range nodes {
		p := parent[i]
		if p < 0 {
			continue
		}
		shown[p]++
		own[i], below[i], level[i] = below[p], below[p], level[p]
		if kids[p] < 2 {
			continue
		}
		level[i]++
		own[i], below[i] = branch(below[p], level[i], shown[p] == kids[p])
	}
	return shape{parent, kids, own}
}

func branch(before string, level int, last bool) (own, below string) {
	switch {
	case level > maxBranches:
		return fmt.Sprintf("%s%d: ", before, level), before
	case last:
		return before + "└─ ", before + "   "
	}
	return before + "├─ ", before + "│  "
}
