package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func branchCmd(a *app) *cobra.Command {
	var w writerFlags
	var at string
	cmd := &cobra.Command{
		Use:   "branch SESSION --at ENTRY",
		Short: "Make a head stand at an entry",
		Long: `Makes a head stand at an entry, so that the next append to it goes on there; a
head that is not there is made. --at null is before all entries. Nothing is
lost: what hung on the head before stays in the tree.

With -o json: one object with session, head, leaf (null for before all entries)
and seq (the cursor).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at == "" {
				return usagef("--at is missing: the entry, or null")
			}
			if err := w.check(); err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.branch(ctx, args[0], at, w)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "the `ENTRY` to stand at, or null for before all entries")
	w.add(cmd)
	return cmd
}

// branched says where a head stands.
type branched struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Leaf    *string        `json:"leaf"`
	Cursor  core.Cursor    `json:"seq"`
}

func (a *app) branch(ctx context.Context, arg, at string, w writerFlags) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	v, err := a.voice(ctx, node, id, w)
	if err != nil {
		return err
	}
	leaf := leafOf(at)
	info, err := again(ctx, func() (api.Info, error) {
		return node.Move(ctx, string(id), w.head, api.MoveRequest{Leaf: leaf}, v.writer)
	})
	if err != nil {
		return a.heard(v, err)
	}
	out := branched{Session: id, Head: w.head, Cursor: info.Log.Cursor}
	if at, ok := leaf.ID(); ok {
		out.Leaf = &at
	}
	return a.print(out, func() error {
		return a.printf("head %s stands at %s", w.head, plain(leafText(leaf)))
	})
}
