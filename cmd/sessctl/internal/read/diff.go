package read

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

func diffCmd(a app) *cobra.Command {
	var v cli.ViewFlags
	var with string
	var files bool
	cmd := &cobra.Command{
		Use:   "diff SESSION [SESSION]",
		Short: "Compare two heads or two sessions",
		Long: `Compares two paths of entries: how many they have in common at their beginning, and
what each has after that. Entries with the same ID or the same line are the same. The
first path is that to main (or --head or --leaf), the second that to main (or --with)
of the other session. With one session, --with is required. A session may be a file.

--files prints instead what the agent's own tools changed on the first path, by file.
What commands of a shell changed is not known.

With -o json: common, at (the last common entry), a and b: the entries of each
path after that, as their agent wrote them. With --files: one object per line for each
change: entry, time, tool, path, old and new (or patch), whole, failed and open (it has
no result).`,
		Example: `sessctl diff 019a --with b2
sessctl diff 019a 019b
sessctl diff 019a --files`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(cli.Forever, func(ctx context.Context, args []string) error {
			if err := v.Check(); err != nil {
				return err
			}
			if files && (len(args) > 1 || with != "") {
				return cli.Usagef("--files is about one session")
			}
			if len(args) == 1 && with == "" && !files {
				return cli.Usagef("diff of one session requires --with or --files")
			}
			if files {
				return a.edits(ctx, args[0], v)
			}
			return a.diff(ctx, args[0], args[len(args)-1], v, cli.HeadView(with))
		}),
	}
	v.Add(cmd)
	cmd.Flags().StringVar(&with, "with", "", "the head `NAME` of the second path (default main of the other session)")
	cmd.Flags().BoolVar(&files, "files", false, "print what the agent's tools changed, by file")
	a.Demand.Add(cmd)
	return cmd
}

// A diff is what two paths have after their common beginning.
type diff struct {
	Common int               `json:"common"` // entries
	At     string            `json:"at,omitempty"`
	A      []json.RawMessage `json:"a"`
	B      []json.RawMessage `json:"b"`
}

func (a app) diff(ctx context.Context, one, other string, v, w cli.ViewFlags) error {
	da, pa, err := a.pathOf(ctx, one, v)
	if err != nil {
		return err
	}
	db, pb, err := a.pathOf(ctx, other, w)
	if err != nil {
		return err
	}
	n := tree.Common(pa, pb)
	out := diff{Common: n, A: linesOf(pa[n:]), B: linesOf(pb[n:])}
	if n > 0 {
		out.At = pa[n-1].ID
	}
	return a.Print(out, func() error {
		if err := a.Printf("%s in common", cli.Count(n, "entry", "entries")); err != nil {
			return err
		}
		if err := a.printSide("-", cli.Red, da, pa[n:]); err != nil {
			return err
		}
		return a.printSide("+", cli.Green, db, pb[n:])
	})
}

// pathOf returns the entries to a leaf of a session or a file.
func (a app) pathOf(ctx context.Context, arg string, v cli.ViewFlags) (core.Dialect, []core.Entry, error) {
	src, err := a.Find(ctx, arg)
	if err != nil {
		return nil, nil, err
	}
	d, _, path, err := a.path(ctx, src, v)
	return d, path, err
}

func linesOf(es []core.Entry) []json.RawMessage {
	lines := make([]json.RawMessage, len(es))
	for i := range es {
		lines[i] = es[i].Line
	}
	return lines
}

// printSide prints what the entries of one side say, those that say something.
func (a app) printSide(sign string, color cli.Color, d core.Dialect, es []core.Entry) error {
	for i := range es {
		w := wordsOf(d, es[i])
		if w == (words{}) {
			continue
		}
		text := cli.Plain(cli.Join(": ", w.who, w.text))
		if err := a.Printf("%s", a.Stdout.Paint(color, sign+" "+a.Stdout.Fit(text, 2))); err != nil {
			return err
		}
	}
	return nil
}
