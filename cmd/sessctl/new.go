package main

import (
	"context"
	"os"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
)

func newCmd(a *app) *cobra.Command {
	var c api.Create
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make an empty session",
		Long: `Makes a session without entries and prints its id.

With -o json: one object with id and seq (the cursor).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.create(ctx, c)
		},
	}
	cmd.Flags().StringVar(&c.ID, "id", "", "call it `ID` (default a new one)")
	cmd.Flags().StringVar(&c.Dialect, "dialect", "", "the agent whose session it is, a dialect's `NAME` (default the node's)")
	cmd.Flags().StringVar(&c.CWD, "cwd", "", "the `DIR` that the agent works in (default the current one)")
	cmd.Flags().StringVar(&c.Parent, "parent", "", "what the header names as the session's `PARENT`")
	return cmd
}

func (a *app) create(ctx context.Context, c api.Create) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	if c.CWD == "" {
		if c.CWD, err = os.Getwd(); err != nil {
			return err
		}
	}
	if c.ID == "" { // chosen here, so that a lost answer leaves no unknown session
		c.ID = ulid.Make().String()
	}
	c.By, _ = a.whoami()
	made, err := node.Create(ctx, c)
	if err != nil {
		return lostAnswer(err, c.ID)
	}
	return a.print(made, func() error { return a.printf("%s", made.ID) })
}

// lostAnswer says how to find out whether the session id was made.
func lostAnswer(err error, id string) error {
	if describe(err, "").Code != "uncertain" {
		return err
	}
	return hintf(err, "look whether it was made: sessctl info %s", id)
}
