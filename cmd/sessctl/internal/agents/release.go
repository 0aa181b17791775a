package agents

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func releaseCmd(a app) *cobra.Command {
	w := cli.WriterFlags{}
	cmd := &cobra.Command{
		Use:   "release SESSION",
		Short: "Release a claim",
		Long: `Releases the claim that this host remembers for a head, or that of --writer. Any
writer may then write to the head. To end the claim of another writer, first take
it over with claim --take-over, which the log records, then release it.

With -o json: one object with session, head and writer, and holder if another
writer holds the head.`,
		Example: "sessctl release 019a",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			if err := w.Check(); err != nil {
				return err
			}
			return a.release(ctx, args[0], w)
		}),
	}
	cmd.Flags().StringVar(&w.Head, "head", core.MainHead, "release the head `NAME`")
	cmd.Flags().StringVar(&w.Writer, "writer", "", "release the claim of the writer `ID` (SESS_WRITER; default the claim this host remembers)")
	a.DryRunFlag(cmd)
	return cmd
}

// released is the output of release.
type released struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	Holder  *core.Claim    `json:"holder,omitempty"` // the current holder
}

func (a app) release(ctx context.Context, arg string, w cli.WriterFlags) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	v, err := a.Writer(ctx, node, id, w)
	if err != nil {
		return err
	}
	if v.Writer == "" {
		return cli.Hintf(cli.Usagef("this host remembers no claim on head %.128q of %s", w.Head, id), "name the writer with: --writer ID (sessctl info shows it)")
	}
	err = node.Release(ctx, string(id), w.Head, v.Writer)
	if err == nil || errors.Is(err, core.ErrFenced) {
		if e := a.Claims().Forget(id, w.Head, v.Writer); e != nil {
			a.Notef("%v", e)
		}
	}
	if err != nil {
		return a.ExplainFenced(v, err)
	}
	done := released{Session: id, Head: w.Head, Writer: v.Writer}
	hs, err := node.Heads(ctx, string(id))
	if err == nil {
		done.Holder = follow.HeadHolder(hs, w.Head)
	}
	return a.Print(done, func() error {
		switch {
		case err != nil:
			return a.Printf("the claim on head %s of %s has ended", w.Head, id)
		case done.Holder != nil:
			return a.Printf("that claim has ended; head %s of %s is held by %s", w.Head, id, cli.Plain(a.ClaimText(done.Holder)))
		}
		return a.Printf("head %s of %s is free", w.Head, id)
	})
}
