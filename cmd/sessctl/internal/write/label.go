package write

import (
	"context"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func labelCmd(a app) *cobra.Command {
	var w cli.WriterFlags
	var f conflictFlags
	var remove bool
	cmd := &cobra.Command{
		Use:   "label SESSION ENTRY [LABEL]",
		Short: "Label an entry, or remove its label",
		Long: `Gives an entry a label, in the format of the session's agent: by an entry of its
own. An empty LABEL, or --clear, removes the label.

With -o json: as for append.`,
		Example: `sessctl label 019a a1b2c3d4 "works"
sessctl label 019a a1b2c3d4 --clear`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			label, err := optionalText(args[2:], remove, "LABEL")
			if err != nil {
				return err
			}
			return a.say(cmd, args[0], w, f, func(ctx context.Context, node *client.Client, id string, o client.AppendOptions) (core.Receipt, error) {
				return node.Label(ctx, id, api.LabelRequest{Target: args[1], Label: label}, o)
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "clear", false, "remove the label")
	w.Add(cmd)
	f.add(cmd)
	a.DryRunFlag(cmd)
	return cmd
}

// optionalText returns the only argument, or "" with --clear.
func optionalText(args []string, remove bool, name string) (string, error) {
	switch {
	case len(args) == 0 && !remove:
		return "", cli.Usagef("%s is missing; to remove it: --clear", name)
	case len(args) > 0 && remove:
		return "", cli.Usagef("%s and --clear exclude each other", name)
	case remove:
		return "", nil
	}
	return args[0], nil
}

// say appends an entry that the node writes. Retries use the same key, so the entry
// is stored once.
func (a app) say(cmd *cobra.Command, arg string, w cli.WriterFlags, f conflictFlags, call func(context.Context, *client.Client, string, client.AppendOptions) (core.Receipt, error)) error {
	if err := w.Check(); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := a.Within(cmd, cli.Short)
	defer cancel()
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	v, err := a.Writer(ctx, node, id, w)
	if err != nil {
		return err
	}
	o := client.AppendOptions{Head: w.Head, Writer: v.Writer, Key: ulid.Make().String()}
	if err := f.options(&o); err != nil {
		return err
	}
	done, err := cli.Retry(ctx, func() (core.Receipt, error) { return call(ctx, node, string(id), o) })
	if err != nil {
		return a.ExplainFenced(v, err)
	}
	return a.printAppended(done)
}
