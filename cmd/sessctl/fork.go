package main

import (
	"context"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func forkCmd(a *app) *cobra.Command {
	var r api.ForkRequest
	cmd := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Begin a new session with a path of this one, or all of it",
		Long: `Makes a new session of the entries from the root to an entry, and prints its id.
With --branched the labels that those entries were given elsewhere in the tree
come along, as new entries behind them. With --whole it has all entries, and
stands where this one does. The new session remembers where it came from; the
old one does not change.

With -o json: one object with id and seq (the cursor).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Whole && (r.At != "" || r.Branched) {
				return usagef("--whole and --at, --branched exclude each other")
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.fork(ctx, args[0], r)
		},
	}
	cmd.Flags().StringVar(&r.At, "at", "", "the last `ENTRY` to take along, or null for none (default where the head main stands)")
	cmd.Flags().BoolVar(&r.Whole, "whole", false, "take all entries along")
	cmd.Flags().BoolVar(&r.Branched, "branched", false, "take labels that were given elsewhere along, as agents do")
	cmd.Flags().StringVar(&r.ID, "id", "", "call the new session `ID` (default a new one)")
	cmd.Flags().StringVar(&r.Kind, "kind", "", "`HOW` the new session tells of this one: fork, branch, or detach, which hides it (default fork)")
	cmd.Flags().StringVar(&r.CWD, "cwd", "", "the `DIR` that the new session's agent works in (default as before)")
	a.dryFlag(cmd)
	return cmd
}

func (a *app) fork(ctx context.Context, arg string, r api.ForkRequest) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	if r.ID == "" { // chosen here, so that a lost answer leaves no unknown session
		r.ID = string(core.NewSessionID(ulid.Make()))
	}
	r.By, _ = a.whoami()
	r.Key = ulid.Make().String()
	made, err := again(ctx, func() (api.Created, error) { return node.Fork(ctx, string(id), r) })
	if err != nil {
		return lostAnswer(err, r.ID)
	}
	return a.print(made, func() error { return a.printf("%s", made.ID) })
}
