package write

import (
	"context"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/newid"
)

func mergeCmd(a app) *cobra.Command {
	var r api.MergeRequest
	cmd := &cobra.Command{
		Use:   "merge SESSION[@HEAD] OTHER[@HEAD]",
		Short: "Create a session from two others",
		Long: `Creates a session from the entries of SESSION up to its head, followed by those of
OTHER, and prints its id. A common beginning is stored once. The new session
stores both parents; they do not change. SESSION and OTHER may be two heads of
one session.

Both must have the same dialect. The model sees both, one after the other; but if
OTHER has a compaction, its agent shows only the entries from there on. Then the
opposite order is better.

With -o json: one object with id, cursor and, if OTHER has a
compaction, hidden.`,
		Example: `sessctl merge 019a 019b
sessctl merge 019a 019a@experiment`,
		Args: cobra.ExactArgs(2),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			return a.merge(ctx, args[0], args[1], r)
		}),
	}
	cmd.Flags().StringVar(&r.ID, "id", "", "call the new session `ID` (default a generated one)")
	cmd.Flags().StringVar(&r.CWD, "cwd", "", "the working `DIR` of the new session (default that of SESSION)")
	a.DryRunFlag(cmd)
	return cmd
}

func (a app) merge(ctx context.Context, first, second string, r api.MergeRequest) error {
	node, id, head, err := a.atHead(ctx, first)
	if err != nil {
		return err
	}
	_, with, withHead, err := a.atHead(ctx, second)
	if err != nil {
		return err
	}
	r.Head, r.With, r.WithHead = head, string(with), withHead
	if r.CWD, err = cli.Directory(r.CWD); err != nil {
		return err
	}
	if r.ID == "" { // chosen here, so that a retry creates no second session
		r.ID = string(newid.Session(ulid.Make()))
	}
	r.By, _ = a.Caller()
	made, err := node.Merge(ctx, string(id), r)
	if err != nil {
		return lostAnswer(err, r.ID)
	}
	if made.Hidden {
		a.Notef("%s has a compaction, which hides %s; merge them in the opposite order to see both", with, id)
	}
	return a.Print(made, func() error { return a.Printf("%s", made.ID) })
}

// atHead resolves SESSION or SESSION@HEAD.
func (a app) atHead(ctx context.Context, arg string) (*client.Client, core.SessionID, string, error) {
	session, head := arg, ""
	if i := strings.LastIndexByte(arg, '@'); i >= 0 {
		session, head = arg[:i], arg[i+1:]
		if err := core.CheckHead(head); err != nil {
			return nil, "", "", err
		}
	}
	node, id, err := a.InLog(ctx, session)
	return node, id, head, err
}
