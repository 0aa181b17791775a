package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/backup"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func backupPruneCmd(a app) *cobra.Command {
	var keep backup.Keep
	var days int
	var yes cli.Confirmation
	var f targetFlags
	cmd := &cobra.Command{
		Use:   "prune TARGET",
		Short: "Delete old backups and the data that only they use",
		Long: `Shows which backups in TARGET neither --keep nor --days keeps, and how much data
only they use, and asks whether to delete them; --yes does so without a question.
The latest backup is always kept. prune first reads all backups that it keeps: if
one is damaged, it deletes nothing. It contacts no node.

Data that was erased from the log leaves TARGET when all backups from before the
erasure are deleted, unless the log could not read the session since then.

backup and prune exclude each other: the second one fails with exit code 5. prune
may be interrupted at any time, and repeated.

` + targetHelp + `

With -o json: one object with applied, kept (how many), dropped (a list), objects
and bytes (that no kept backup uses).`,
		Example: `sessctl backup prune --keep 7 /backup/prod
sessctl backup prune --days 30 --yes s3://backups/prod`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if keep.Last < 0 || days < 0 || keep.Last == 0 && days == 0 {
				return cli.Usagef("--keep NUMBER, --days NUMBER or both are required")
			}
			keep.Within = time.Duration(days) * 24 * time.Hour
			repo, err := a.openTarget(ctx, args[0], f, false)
			if err != nil {
				return err
			}
			defer repo.Close()
			return a.backupPrune(ctx, repo.Repo, keep, yes.Yes)
		}),
	}
	cmd.Flags().IntVar(&keep.Last, "keep", 0, "keep the latest `NUMBER` backups")
	cmd.Flags().IntVar(&days, "days", 0, "keep the backups of the last `NUMBER` days")
	yes.Add(a.App, cmd)
	f.add(cmd)
	return cmd
}

func (a app) backupPrune(ctx context.Context, repo *backup.Repo, keep backup.Keep, yes bool) error {
	p, err := repo.Prune(ctx, keep, yes, a.Now)
	if err != nil {
		return err
	}
	err = a.Print(p, func() error {
		for _, run := range p.Dropped {
			if err := a.Printf("%s  dropped", run); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("%s kept, %d dropped; with them %s, %s", cli.Count(p.Kept, "backup", "backups"), len(p.Dropped),
			cli.Count(p.Objects, "object", "objects"), cli.Bytes(p.Bytes))
		if !p.Applied {
			return a.Printf("would be: %s", what)
		}
		return a.Printf("%s", what)
	})
	if err != nil || yes || len(p.Dropped) == 0 {
		return err
	}
	if yes, err = a.Confirm(ctx, "Delete them?", "to delete them: --yes"); err != nil || !yes {
		return err
	}
	return a.backupPrune(ctx, repo, keep, true)
}
