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
	var parents []string
	var kind string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Make an empty session",
		Long: `Makes a session without entries and prints its id.

With --kind the new session comes from those that --parent names, which have to
be in the log, and sessctl lineage shows it: subagent for one that another's
agent starts, compress for one that begins with a summary of others (append it
with sessctl append), or any other kind that lineage knows. Without --kind
--parent is but a word for the header.

With -o json: one object with id and seq (the cursor).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.create(ctx, c, parents, kind)
		},
	}
	cmd.Flags().StringVar(&c.ID, "id", "", "call it `ID` (default a new one)")
	cmd.Flags().StringVar(&c.Dialect, "dialect", "", "the agent whose session it is, a dialect's `NAME` (default the node's)")
	cmd.Flags().StringVar(&c.CWD, "cwd", "", "the `DIR` that the agent works in (default the current one)")
	cmd.Flags().StringArrayVar(&parents, "parent", nil, "the `SESSION` that it comes from; may be given again, in order")
	cmd.Flags().StringVar(&kind, "kind", "", "`HOW` it comes from its parents, such as subagent or compress")
	return cmd
}

func (a *app) create(ctx context.Context, c api.Create, parents []string, kind string) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	switch {
	case kind != "" && len(parents) == 0:
		return usagef("--kind says how a session comes from others, and no --parent is given")
	case kind == "" && len(parents) > 1:
		return usagef("several --parent need a --kind: a header has room for one")
	case kind == "" && len(parents) == 1:
		c.Parent = parents[0]
	case kind != "":
		for _, p := range parents {
			_, id, err := a.inLog(ctx, p)
			if err != nil {
				return err
			}
			c.Parents = append(c.Parents, api.ParentRef{Session: string(id), Kind: kind})
		}
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
