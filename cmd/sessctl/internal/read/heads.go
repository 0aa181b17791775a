package read

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func headsCmd(a app) *cobra.Command {
	return &cobra.Command{
		Use:   "heads SESSION",
		Short: "Show the heads of a session and their holders",
		Long: `Shows every head of the session: its entry and text, its distance from main (+
entries that only it has, - entries that only main has), its holder, and whether
the holder seems to be active.

With -o json: one object with session, cursor and heads, each with head, leaf,
seq (of the record that moved it last), entry (id, type, text), claim, life
(state: alive, silent, new or unknown; seen, host), fork (the last entry shared
with main), ahead and behind; and more, the number of heads beyond the first
thousand.`,
		Example: "sessctl heads 019a",
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			return a.heads(ctx, args[0])
		}),
	}
}

func (a app) heads(ctx context.Context, arg string) error {
	node, id, err := a.InLog(ctx, arg)
	if err != nil {
		return err
	}
	hs, err := node.Heads(ctx, string(id))
	if err != nil {
		return err
	}
	return a.Print(hs, func() error { return a.printHeads(hs) })
}

func (a app) printHeads(hs api.Heads) error {
	g := a.NewGrid()
	g.Row("HEAD", "AT", "FROM MAIN", "HELD BY", "TYPE", "TEXT")
	for _, h := range hs.Heads {
		apart := ""
		if h.Ahead > 0 || h.Behind > 0 {
			apart = fmt.Sprintf("+%d -%d", h.Ahead, h.Behind)
		}
		at, kind, text := "none", "", ""
		if h.Entry != nil {
			at, kind, text = h.Entry.ID, h.Entry.Type, h.Entry.Text
		}
		held := "no writer"
		if h.Claim != nil {
			held = cli.Join(", ", cmp.Or(cli.Who(h.Claim), h.Claim.Writer), a.LifeText(h.Life))
		}
		g.Row(h.Head, at, apart, held, kind, text)
	}
	g.DropEmpty()
	if err := g.Flush(); err != nil {
		return err
	}
	if hs.More > 0 {
		return a.Printf("and %s more", cli.Count(hs.More, "head", "heads"))
	}
	return nil
}
