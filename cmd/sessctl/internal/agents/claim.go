package agents

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

func claimCmd(a app) *cobra.Command {
	var f claimFlags
	cmd := &cobra.Command{
		Use:   "claim SESSION",
		Short: "Take an exclusive claim on a head",
		Long: `Claims a head: until the claim is released or taken over, no other writer can
write to the head. This host remembers the claim, and append, label, name, move-head
and import use it. If another writer holds the head, claim fails, and the error
says whether that holder seems to be active. --take-over takes the head from the
holder, which is then fenced at its next write.

A claim persists after sessctl exits. With --hold, sessctl stays in the foreground
and reports that the holder is active (sessctl ps), until it is interrupted; then
it releases the claim. It fails if another writer takes the head over.

With -o json: one object with session, head, writer, epoch, seq, agent, host,
by, since, and former: the claim that this one replaced.`,
		Example: `sessctl claim 019a
sessctl claim --take-over 019a
sessctl claim --hold 019a & pi; kill $!`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := core.CheckHead(f.Head); err != nil {
				return err
			}
			if f.hold && a.DryRun {
				return cli.Usagef("--hold and --dry-run exclude each other")
			}
			limit := cli.Short
			if f.hold {
				limit = cli.Forever
			}
			ctx, cancel := a.Within(cmd, limit)
			defer cancel()
			return a.claim(ctx, args[0], f)
		},
	}
	addClaimFlags(cmd, &f.ClaimOptions)
	cmd.Flags().BoolVar(&f.TakeOver, "take-over", false, "take the claim from another holder")
	cmd.Flags().BoolVar(&f.hold, "hold", false, "stay in the foreground as an active writer until interrupted, then release the claim")
	a.DryRunFlag(cmd)
	return cmd
}

type claimFlags struct {
	agent.ClaimOptions
	hold bool
}

func addClaimFlags(cmd *cobra.Command, o *agent.ClaimOptions) {
	cmd.Flags().StringVar(&o.Head, "head", core.MainHead, "claim the head `NAME`")
	cmd.Flags().StringVar(&o.Agent, "agent", "", "the `NAME` of the agent that will write, for others to read")
}

// claimed is the output of claim.
type claimed struct {
	Session core.SessionID `json:"session"`
	api.Claimed
}

func (a app) claim(ctx context.Context, arg string, f claimFlags) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	mine, _, err := a.Claims().Load(id, f.Head)
	if err != nil {
		return err
	}
	c, err := agent.Claim(ctx, a.Host(), node, id, f.ClaimOptions)
	if holder := agent.HolderOf(err); holder != nil && mine.Writer != "" && holder.Writer == mine.Writer {
		c, err = api.Claimed{Claim: *holder, Head: f.Head}, nil // an earlier claim of this host
	}
	if errors.Is(err, core.ErrFenced) {
		return cli.Hintf(err, "take it over with: sessctl claim --take-over%s %s", agent.HeadFlag(f.Head), id)
	}
	if err != nil {
		return err
	}
	a.Host().Remember(id, c, "")
	if err := a.printClaimed(id, c, mine); err != nil || !f.hold {
		return err
	}
	return a.hold(ctx, node, id, c)
}

func (a app) printClaimed(id core.SessionID, c api.Claimed, mine agent.StoredClaim) error {
	return a.Print(claimed{id, c}, func() error {
		if err := a.Printf("you hold head %s of session %s", c.Head, id); err != nil {
			return err
		}
		return a.printFenced(c.Former, mine.Writer, nil)
	})
}

// printFenced prints the former holder, unless it was this host.
func (a app) printFenced(former *core.Claim, mine string, life *session.Life) error {
	if former == nil || former.Writer == mine {
		return nil
	}
	who := cli.Join(", ", a.ClaimText(former), a.LifeText(life))
	return a.Printf("  taken over from %s; its next write will be refused", cli.Plain(who))
}
