package admin

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

func legalHoldCmd(a app) *cobra.Command {
	var f holdFlags
	cmd := &cobra.Command{
		Use:   "legal-hold [SESSION]",
		Short: "Protect a session from deletion, erasure and redaction",
		Long: `Puts a session on legal hold: until --release it cannot be deleted, erased or redacted,
and the error names who put it on hold and why. Writing is still possible.
Without a SESSION it lists the sessions on hold.

With -o json: one object with session and held (true or false); of the list, an
object for each session with session and held (by, host, time, why).`,
		Example: `sessctl legal-hold 019a --why "audit 2026"
sessctl legal-hold --release 019a --why "settled"`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			switch {
			case len(args) == 0 && (f.release || f.why != ""):
				return cli.Usagef("SESSION is missing")
			case len(args) == 1 && strings.TrimSpace(f.why) == "":
				return cli.Usagef("--why is missing: the reason, which the log stores")
			}
			if len(args) == 0 {
				return a.holds(ctx)
			}
			return a.holdSession(ctx, args[0], f)
		}),
	}
	cli.WhyFlag(cmd, &f.why)
	cmd.Flags().BoolVar(&f.release, "release", false, "end the hold")
	a.DryRunFlag(cmd)
	return cmd
}

type holdFlags struct {
	why     string
	release bool
}

// holding is the output of hold.
type holding struct {
	Session core.SessionID `json:"session"`
	Held    bool           `json:"held"`
}

func (a app) holdSession(ctx context.Context, arg string, f holdFlags) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	n := a.Notice(f.why)
	if f.release {
		if err := node.Unhold(ctx, string(id), n); err != nil {
			return err
		}
		return a.Print(holding{id, false}, func() error { return a.Printf("%s is no longer on hold", id) })
	}
	if err := node.Hold(ctx, string(id), n); err != nil {
		return err
	}
	return a.Print(holding{id, true}, func() error {
		return a.Printf("%s is on hold; release it with: sessctl legal-hold --release %s --why TEXT", id, id)
	})
}

func (a app) holds(ctx context.Context) error {
	node, err := a.Client()
	if err != nil {
		return err
	}
	list, err := node.Holds(ctx)
	if err != nil {
		return err
	}
	return a.Print(cli.NotNil(list.Holds), func() error {
		if len(list.Holds) == 0 {
			a.Notef("no session is on hold")
			return nil
		}
		g := a.NewGrid()
		g.Row("SESSION", "BY", "SINCE", "WHY")
		for _, h := range list.Holds {
			g.Row(string(h.Session), cli.Join(" on ", h.Held.By, h.Held.Host), a.Time(h.Held.Time), h.Held.Why)
		}
		return g.Flush()
	})
}
