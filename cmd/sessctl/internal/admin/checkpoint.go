package admin

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func checkpointCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint SESSION",
		Short: "Write a snapshot now",
		Long: `The node writes the session's snapshot and checkpoint now, before it would do so
automatically.

With -o json: one object with object (the snapshot's key), covers (records),
chain, size, sha256 and entries.`,
		Example: "sessctl checkpoint 019a",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			return a.checkpoint(ctx, args[0])
		}),
	}
}

func (a app) checkpoint(ctx context.Context, arg string) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	s, err := node.Checkpoint(ctx, string(id))
	if err != nil {
		return err
	}
	return a.Print(s, func() error {
		return a.Printf("%s  %s, %s, covers the first %s", cli.Plain(s.Object),
			cli.Bytes(s.Size), cli.Count(s.Entries, "entry", "entries"), cli.Count(s.Seq, "record", "records"))
	})
}
