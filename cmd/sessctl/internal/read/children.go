package read

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

func childrenCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "children SESSION [ENTRY]",
		Short: "Print the children of an entry",
		Long: `Prints the entries whose parent is ENTRY, or without ENTRY the roots, as their
agent wrote them, one per line, oldest first.

With -o json: a list of the entries, byte-identical.`,
		Example: `sessctl children 019a
sessctl children 019a a1b2c3d4`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			of := ""
			if len(args) > 1 {
				of = args[1]
			}
			return a.children(ctx, args[0], of)
		}),
	}
}

func (a app) children(ctx context.Context, arg, of string) error {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return err
	}
	out := a.newLineWriter()
	if src.File != nil {
		if err := fileChildren(src.File, of, out.add); err != nil {
			return err
		}
		return out.end()
	}
	lines, err := src.Node.Children(ctx, src.ID, of)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := out.add(line); err != nil {
			return err
		}
	}
	return out.end()
}

func fileChildren(f *cli.SessionFile, of string, add func([]byte) error) error {
	if of != "" && !cli.HasEntry(f.Entries, of) {
		return fmt.Errorf("entry %.128q: %w", of, core.ErrNotFound)
	}
	return addLines(tree.Children(f.Rules, f.Entries, of), add)
}
