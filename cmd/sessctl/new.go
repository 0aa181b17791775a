package main

import (
	"context"
	"errors"
	"os"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func newCmd(a *app) *cobra.Command {
	var c api.Create
	var goOn bool
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make an empty session",
		Long: `Makes a session without entries and prints its id. With --continue it prints
the id of the session that was changed last in the directory, as an agent that
goes on where it left off, and makes one only where there is none.

With -o json: one object with id and seq (the cursor).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if goOn && (c.ID != "" || c.Parent != "") {
				return usagef("--continue excludes --id and --parent")
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.create(ctx, c, goOn)
		},
	}
	cmd.Flags().StringVar(&c.ID, "id", "", "call it `ID` (default a new one)")
	cmd.Flags().StringVar(&c.Dialect, "dialect", "", "the agent whose session it is, a dialect's `NAME` (default the node's)")
	cmd.Flags().StringVar(&c.CWD, "cwd", "", "the `DIR` that the agent works in (default the current one)")
	cmd.Flags().StringVar(&c.Parent, "parent", "", "what the header names as the session's `PARENT`")
	cmd.Flags().BoolVar(&goOn, "continue", false, "go on with the session of that directory and dialect that was changed last, if there is one")
	return cmd
}

func (a *app) create(ctx context.Context, c api.Create, goOn bool) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	if c.CWD == "" {
		if c.CWD, err = os.Getwd(); err != nil {
			return err
		}
	}
	if goOn {
		last, err := latest(ctx, node, c)
		if err == nil {
			return a.print(last, func() error { return a.printf("%s", last.ID) })
		}
		if !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	if c.ID == "" { // chosen here, so that a lost answer leaves no unknown session
		c.ID = ulid.Make().String()
	}
	c.Key = ulid.Make().String()
	c.By, _ = a.whoami()
	made, err := again(ctx, func() (api.Created, error) { return node.Create(ctx, c) })
	if err != nil {
		return lostAnswer(err, c.ID)
	}
	return a.print(made, func() error { return a.printf("%s", made.ID) })
}

// latest returns the session of c's directory and dialect that was changed
// last.
func latest(ctx context.Context, node *api.Client, c api.Create) (api.Created, error) {
	o := api.ListOptions{CWD: c.CWD, Dialect: c.Dialect, Limit: 1}
	if o.Dialect == "" {
		o.Dialect = "pi"
	}
	list, err := node.List(ctx, o)
	if err != nil {
		return api.Created{}, err
	}
	if len(list.Sessions) == 0 {
		return api.Created{}, core.ErrNotFound
	}
	info, err := node.Info(ctx, string(list.Sessions[0].ID))
	return api.Created{ID: info.Log.Session, Cursor: info.Log.Cursor}, err
}

// lostAnswer says how to find out whether the session id was made.
func lostAnswer(err error, id string) error {
	if describe(err, "").Code != "uncertain" {
		return err
	}
	return hintf(err, "look whether it was made: sessctl info %s", id)
}
