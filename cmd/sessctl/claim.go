package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

func claimCmd(a *app) *cobra.Command {
	var f claimFlags
	cmd := &cobra.Command{
		Use:   "claim SESSION",
		Short: "Take exclusive hold of a head",
		Long: `Claims a head: until it is released, or taken over, nobody else writes to it.
This host remembers the claim, and append, label, name, branch and import speak
from it. A head that another holds is left to them, unless --take-over is
given; then they are fenced at their next write. The refusal says whether the
holder seems to be at work.

A claim stays when this sessctl ends. With --hold it goes on in the foreground
and lets others see that somebody is there (sessctl ps), until it is interrupted:
then it gives the claim up. It fails when somebody takes the head over. With an
agent beside it: sessctl claim --hold SESSION & ... ; kill $!

With -o json: one object with session, head, writer, epoch, seq, agent, host,
by, since, and former: the claim that this one ended.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := core.CheckHead(f.head); err != nil {
				return err
			}
			if f.hold && a.dry {
				return usagef("--hold and --dry-run exclude each other")
			}
			limit := short
			if f.hold {
				limit = forever
			}
			ctx, cancel := a.within(cmd, limit)
			defer cancel()
			return a.claim(ctx, args[0], f)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.takeOver, "take-over", false, "claim it also from another who holds it")
	cmd.Flags().BoolVar(&f.hold, "hold", false, "stay, and be seen, until interrupted; then release the claim")
	a.dryFlag(cmd)
	return cmd
}

type claimFlags struct {
	head     string
	agent    string
	takeOver bool
	from     string // with takeOver, the only writer it may be taken from
	hold     bool
}

func (f *claimFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.head, "head", core.MainHead, "claim the head `NAME`")
	cmd.Flags().StringVar(&f.agent, "agent", "", "the `NAME` of who will write, for others to read")
}

// claimed is what claim says.
type claimed struct {
	Session core.SessionID `json:"session"`
	api.Claimed
}

func (a *app) claim(ctx context.Context, arg string, f claimFlags) error {
	node, id, err := a.inLog(ctx, arg)
	if err != nil {
		return err
	}
	mine, _, err := a.claims().load(id, f.head)
	if err != nil {
		return err
	}
	c, err := a.takeClaim(ctx, node, id, f)
	if holder := holderOf(err); holder != nil && mine.Writer != "" && holder.Writer == mine.Writer {
		c, err = api.Claimed{Claim: *holder, Head: f.head}, nil // this host's own, from before
	}
	if errors.Is(err, core.ErrFenced) {
		return hintf(err, "take it over with: sessctl claim --take-over%s %s", headArg(f.head), id)
	}
	if err != nil {
		return err
	}
	a.remember(id, c, "")
	if err := a.printClaimed(id, c, mine); err != nil || !f.hold {
		return err
	}
	return a.hold(ctx, node, id, c)
}

func (a *app) printClaimed(id core.SessionID, c api.Claimed, mine held) error {
	return a.print(claimed{id, c}, func() error {
		if err := a.printf("head %s of %s is held, by writer %s, epoch %d", c.Head, id, c.Writer, c.Epoch); err != nil {
			return err
		}
		return a.printFenced(c.Former, mine.Writer, nil)
	})
}

func (a *app) takeClaim(ctx context.Context, node *api.Client, id core.SessionID, f claimFlags) (api.Claimed, error) {
	by, host := a.whoami()
	c, err := node.Claim(ctx, string(id), api.ClaimRequest{Head: f.head, Agent: f.agent, Host: host, By: by, TakeOver: f.takeOver, From: f.from})
	if c.Head == "" {
		c.Head = f.head
	}
	return c, err
}

// remember keeps a claim for later runs. Failing is no failure of the claim.
func (a *app) remember(id core.SessionID, c api.Claimed, path string) {
	if err := a.claims().save(heldOf(id, c, path)); err != nil {
		a.notef("the claim could not be remembered (%v), speak from it with: --writer %s", err, c.Writer)
	}
}

func heldOf(id core.SessionID, c api.Claimed, path string) held {
	return held{Session: id, Head: c.Head, Writer: c.Writer, Epoch: c.Epoch, Agent: c.Agent, Since: c.Since, Path: path}
}

// printFenced tells who lost the head, unless it was this host itself.
func (a *app) printFenced(former *core.Claim, mine string, life *api.Life) error {
	if former == nil || former.Writer == mine {
		return nil
	}
	who := join(", ", a.claimText(former), a.lifeText(life))
	return a.printf("  taken over from %s, who is fenced", plain(who))
}
