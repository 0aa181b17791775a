package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/core"
)

func releaseCmd(a *app) *cobra.Command {
	w := writerFlags{}
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(); err != nil {
				return err
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.release(ctx, args[0], w)
		},
	}
	cmd.Flags().StringVar(&w.head, "head", core.MainHead, "release the head `NAME`")
	cmd.Flags().StringVar(&w.writer, "writer", "", "release the claim of the writer `ID` (SESS_WRITER; default the claim this host remembers)")
	a.dryFlag(cmd)
	return cmd
}

// released says which claim is over.
type released struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	Holder  *core.Claim    `json:"holder,omitempty"` // another, who has the head now
}

func (a *app) release(ctx context.Context, arg string, w writerFlags) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	v, err := a.writer(ctx, node, id, w)
	if err != nil {
		return err
	}
	if v.writer == "" {
		return hintf(usagef("this host remembers no claim on head %.128q of %s", w.head, id), "name the writer with: --writer ID, as sessctl info shows it")
	}
	err = node.Release(ctx, string(id), w.head, v.writer)
	if err == nil || errors.Is(err, core.ErrFenced) {
		if e := a.claims().Forget(id, w.head, v.writer); e != nil {
			a.notef("%v", e)
		}
	}
	if err != nil {
		return a.explain(v, err)
	}
	done := released{Session: id, Head: w.head, Writer: v.writer}
	hs, err := node.Heads(ctx, string(id))
	if err == nil {
		done.Holder = agent.HeadHolder(hs, w.head)
	}
	return a.print(done, func() error {
		switch {
		case err != nil:
			return a.printf("the claim on head %s of %s is over", w.head, id)
		case done.Holder != nil:
			return a.printf("that claim is over; head %s of %s is held by %s", w.head, id, plain(a.claimText(done.Holder)))
		}
		return a.printf("head %s of %s is free", w.head, id)
	})
}
