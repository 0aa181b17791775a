package write

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func rmCmd(a app) *cobra.Command {
	var f rmFlags
	cmd := &cobra.Command{
		Use:        "rm [SESSION...]",
		SuggestFor: []string{"delete", "remove", "trash", "clean"},
		Short:      "Move sessions to the trash, or restore them",
		Long: `Moves the sessions to the trash; --undo restores them. Nothing is erased.

Without SESSION it selects old sessions: those that were not modified for the time
of --older-than, and those beyond the number of --keep, the oldest first. Messages
modify a session; labels, names and settings do not. It shows them and asks; --yes
moves them without a question. Both limits apply to the sessions that --dialect and
--cwd select. A session that a writer holds counts but is kept, and so is one that
changes while rm runs.

With -o json: one object per line for each session: id and deleted (true or false).
For old sessions a list instead: id, last (when it was modified, if known), why, pruned
(whether it is in the trash now), and error if it could not be moved.`,
		Example: `sessctl rm 019a
sessctl rm --undo 019a
sessctl rm --older-than 90d --cwd .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd, cli.Forever)
			defer cancel()
			if len(args) == 0 {
				return a.prune(ctx, f.pruneFlags)
			}
			for _, arg := range args {
				if err := a.rm(ctx, arg, f.why, f.undo); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cli.WhyFlag(cmd, &f.why)
	cmd.Flags().BoolVar(&f.undo, "undo", false, "take the sessions out of the trash")
	a.DryRunFlag(cmd)
	f.pruneFlags.add(a.App, cmd)
	return cmd
}

type rmFlags struct {
	pruneFlags
	why  string
	undo bool
}

// check validates the flags: sessions are named, or selected.
func (f *rmFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return f.pruneFlags.check(cmd)
	}
	for _, name := range []string{"older-than", "keep", "dialect", "cwd"} {
		if cmd.Flags().Changed(name) {
			return cli.Usagef("--%s and SESSION exclude each other", name)
		}
	}
	return nil
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
		// A complete id was not looked up in the trash.
		if info, err := node.Info(ctx, string(id)); err == nil && info.Log.Deleted == nil {
			return cli.NotInTrash(id)
		}
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
