package write

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func rmCmd(a app) *cobra.Command {
	var undo bool
	var why string
	cmd := &cobra.Command{
		Use:        "rm SESSION...",
		SuggestFor: []string{"delete", "remove", "trash"},
		Short:      "Move a session to the trash, or restore it",
		Long: `Moves the sessions to the trash; --undo restores them. Nothing is erased.

With -o json: one object per line for each session: id and deleted (true or false).`,
		Example: `sessctl rm 019a
sessctl rm --undo 019a`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.Within(cmd, cli.Short)
			defer cancel()
			for _, arg := range args {
				if err := a.rm(ctx, arg, why, undo); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cli.WhyFlag(cmd, &why)
	cmd.Flags().BoolVar(&undo, "undo", false, "take the sessions out of the trash")
	a.DryRunFlag(cmd)
	return cmd
}

// removed is the output of rm.
type removed struct {
	ID      core.SessionID `json:"id"`
	Deleted bool           `json:"deleted"`
}

func (a app) rm(ctx context.Context, arg, why string, undo bool) error {
	node, id, err := a.InLogOrTrash(ctx, arg, undo)
	if err != nil {
		return err
	}
	n := a.Notice(why)
	if undo {
		if err := node.Undelete(ctx, string(id), n); err != nil {
			return err
		}
		return a.Print(removed{id, false}, func() error { return a.Printf("%s is out of the trash", id) })
	}
	if err := node.Delete(ctx, string(id), n); err != nil {
		return err
	}
	return a.Print(removed{id, true}, func() error {
		return a.Printf("%s is in the trash, restore it with: sessctl rm --undo %s", id, id)
	})
}
