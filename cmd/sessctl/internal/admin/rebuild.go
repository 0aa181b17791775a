package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func rebuildCmd(a app) *cobra.Command {
	var f cli.Confirmation
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild a node's index from the log",
		Long: `Shows how much of the log the node would read again, and asks whether to rebuild;
--yes does so without a question. The node then discards all that it derived from
the log (the rows of ls, and the data of searches) and reads the log from its
beginning. The log, snapshots and blobs do not change. Until the rebuild is done,
listings of this node are incomplete.

With -o json: one object with node, sessions, shards, messages and done.`,
		Example: `sessctl rebuild
sessctl rebuild --yes`,
		Args: cobra.NoArgs,
		RunE: a.Run(cli.Forever, func(ctx context.Context, _ []string) error {
			return a.rebuild(ctx, f.Yes)
		}),
	}
	f.Add(a.App, cmd)
	return cmd
}

func (a app) rebuild(ctx context.Context, yes bool) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	ask := node.ToRebuild
	if yes {
		ask = node.Rebuild
	}
	r, err := ask(ctx)
	if err != nil {
		return err
	}
	if err := a.Print(r, func() error { return a.Printf("%s", rebuildText(r)) }); err != nil || yes {
		return err
	}
	if yes, err = a.Confirm(ctx, "Rebuild them?", "to rebuild them: --yes"); err != nil || !yes {
		return err
	}
	return a.rebuild(ctx, true)
}

func rebuildText(r api.Rebuilt) string {
	of := cli.Count(r.Sessions, "session", "sessions") + " from " + cli.Count(int(r.Messages), "record", "records") + " in " + cli.Count(r.Shards, "shard", "shards")
	if r.Done {
		return cli.Plain(r.Node) + " has rebuilt the rows of " + of
	}
	return cli.Plain(r.Node) + " would rebuild the rows of " + of
}
