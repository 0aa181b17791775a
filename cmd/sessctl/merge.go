package main

import (
	"context"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func mergeCmd(a *app) *cobra.Command {
	var r api.MergeRequest
	cmd := &cobra.Command{
		Use:   "merge SESSION[@HEAD] OTHER[@HEAD]",
		Short: "Begin a new session with two others",
		Long: `Makes a new session of what SESSION holds up to where its head stands, then what
OTHER holds, and prints its id. What both begin with is there once. The new
session remembers both; they do not change. SESSION and OTHER may be two heads
of one session: sessctl merge ID ID@other.

Both have to be of one dialect. The model sees both, one after the other; but
where OTHER was compacted, its agent shows what is from that compaction on.
Then the other way round is better.

With -o json: one object with id, seq (the cursor) and, where OTHER was
compacted, hidden.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.merge(ctx, args[0], args[1], r)
		},
	}
	cmd.Flags().StringVar(&r.ID, "id", "", "call the new session `ID` (default a new one)")
	cmd.Flags().StringVar(&r.CWD, "cwd", "", "the `DIR` that the new session's agent works in (default SESSION's)")
	a.dryFlag(cmd)
	return cmd
}

func (a *app) merge(ctx context.Context, first, second string, r api.MergeRequest) error {
	node, id, head, err := a.atHead(ctx, first)
	if err != nil {
		return err
	}
	_, with, withHead, err := a.atHead(ctx, second)
	if err != nil {
		return err
	}
	r.Head, r.With, r.WithHead = head, string(with), withHead
	if r.ID == "" { // chosen here, so that a lost answer leaves no unknown session
		r.ID = string(core.NewSessionID(ulid.Make()))
	}
	r.By, _ = a.whoami()
	made, err := node.Merge(ctx, string(id), r)
	if err != nil {
		return lostAnswer(err, r.ID)
	}
	if made.Hidden {
		a.notef("%s was compacted: its agent shows little or nothing of %s; merge them the other way round to see both", with, id)
	}
	return a.print(made, func() error { return a.printf("%s", made.ID) })
}

// atHead reads SESSION or SESSION@HEAD.
func (a *app) atHead(ctx context.Context, arg string) (*api.Client, core.SessionID, string, error) {
	session, head := arg, ""
	if i := strings.LastIndexByte(arg, '@'); i >= 0 {
		session, head = arg[:i], arg[i+1:]
		if err := core.CheckHead(head); err != nil {
			return nil, "", "", err
		}
	}
	node, id, err := a.inLog(ctx, session)
	return node, id, head, err
}
