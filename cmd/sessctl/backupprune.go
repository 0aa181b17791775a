package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/backup"
)

func backupPruneCmd(a *app) *cobra.Command {
	var keep backup.Keep
	var days int
	var apply bool
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "prune TARGET",
		Short: "Drop old backups, and what only they hold",
		Long: `Says which backups in TARGET are older than what --keep and --days keep, and how
much only they hold; with --apply they are dropped. A backup that one of the two
keeps is kept, and the latest in any case. All that are kept are read first: where
one of them is damaged, nothing is touched. No node is asked.

What was erased from the log is gone from TARGET when all backups from before are
dropped, and the session is not one that the log could not be read of since.

While a backup is made there, nothing is dropped, and the other way round; then
the exit code is 5. It may be stopped at any time, and run again.

` + targetHelp + `

With -o json: one object with applied, kept (how many), dropped (a list), objects
and bytes (that no kept backup names).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keep.Last < 0 || days < 0 || keep.Last == 0 && days == 0 {
				return usagef("say what is kept with --keep NUMBER, --days NUMBER, or both")
			}
			keep.Within = time.Duration(days) * 24 * time.Hour
			ctx, cancel := a.within(cmd, forever)
			defer cancel()
			repo, err := a.openTarget(ctx, args[0], f, false)
			if err != nil {
				return err
			}
			defer repo.Close()
			return a.backupPrune(ctx, repo.Repo, keep, apply)
		},
	}
	cmd.Flags().IntVar(&keep.Last, "keep", 0, "keep this `NUMBER` of the latest backups")
	cmd.Flags().IntVar(&days, "days", 0, "keep the backups of this `NUMBER` of days")
	cmd.Flags().BoolVar(&apply, "apply", false, "do it, do not only say what would be done")
	f.add(cmd)
	return cmd
}

func (a *app) backupPrune(ctx context.Context, repo *backup.Repo, keep backup.Keep, apply bool) error {
	p, err := repo.Prune(ctx, keep, apply, a.now)
	if err != nil {
		return err
	}
	return a.print(p, func() error {
		for _, run := range p.Dropped {
			if err := a.printf("%s  dropped", run); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("%s kept, %d dropped; with them %s, %s", count(p.Kept, "backup", "backups"), len(p.Dropped),
			count(p.Objects, "object", "objects"), bytesText(p.Bytes))
		if !p.Applied {
			a.notef("nothing was done yet, do it with: --apply")
			return a.printf("would be: %s", what)
		}
		return a.printf("%s", what)
	})
}
