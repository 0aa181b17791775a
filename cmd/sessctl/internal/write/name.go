package write

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func nameCmd(a app) *cobra.Command {
	var w cli.WriterFlags
	var f conflictFlags
	var remove bool
	cmd := &cobra.Command{
		Use:   "name SESSION [NAME]",
		Short: "Name a session, or remove its name",
		Long: `Names the session, in the format of its agent: by a separate entry. An empty
NAME, or --clear, removes the name.

With -o json: as for append.`,
		Example: `sessctl name 019a "fix the flaky test"`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := optionalText(args[1:], remove, "NAME")
			if err != nil {
				return err
			}
			return a.say(cmd, args[0], w, f, func(ctx context.Context, node *client.Client, id string, o client.AppendOptions) (core.Receipt, error) {
				return node.Name(ctx, id, api.NameRequest{Name: name}, o)
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "clear", false, "remove the name")
	w.Add(cmd)
	f.add(cmd)
	a.DryRunFlag(cmd)
	return cmd
}
