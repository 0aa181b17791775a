package write

import (
	"context"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/newid"
)

func forkCmd(a app) *cobra.Command {
	var r api.ForkRequest
	cmd := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Create a session from a path of this one, or from all",
		Long: `Creates a session from the entries between the root and an entry, and prints its
id. With --branched it also copies the labels that those entries have elsewhere in
the tree, as new entries at the end. With --whole it copies all entries, and its
head points to the same entry. The new session stores where it came from; the old
one does not change.

With -o json: one object with id and cursor.`,
		Example: `sessctl fork 019a
sessctl fork 019a --at a1b2c3d4`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if r.Whole && (r.At != "" || r.Branched) {
				return cli.Usagef("--whole excludes --at and --branched")
			}
			return a.fork(ctx, args[0], r)
		}),
	}
	cmd.Flags().StringVar(&r.At, "at", "", "the last `ENTRY` to copy, or null for none (default the entry of the head main)")
	cmd.Flags().BoolVar(&r.Whole, "whole", false, "copy all entries")
	cmd.Flags().BoolVar(&r.Branched, "branched", false, "also copy labels from other branches, as agents do")
	cmd.Flags().StringVar(&r.ID, "id", "", "call the new session `ID` (default a generated one)")
	cmd.Flags().StringVar(&r.Kind, "kind", "", "the `KIND` of relation: fork, branch, or detach, which hides this session (default fork)")
	cmd.Flags().StringVar(&r.CWD, "cwd", "", "the working `DIR` of the new session (default as before)")
	a.DryRunFlag(cmd)
	return cmd
}

func (a app) fork(ctx context.Context, arg string, r api.ForkRequest) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	if r.CWD, err = cli.Directory(r.CWD); err != nil {
		return err
	}
	if r.ID == "" { // chosen here, so that a retry creates no second session
		r.ID = string(newid.Session(ulid.Make()))
	}
	r.By, _ = a.Caller()
	r.Key = ulid.Make().String()
	made, err := cli.Retry(ctx, func() (api.Created, error) { return node.Fork(ctx, string(id), r) })
	if err != nil {
		return lostAnswer(err, r.ID)
	}
	return a.Print(made, func() error { return a.Printf("%s", made.ID) })
}
