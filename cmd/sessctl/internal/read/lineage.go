package read

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

func lineageCmd(a app) *cobra.Command {
	var f lineageFlags
	cmd := &cobra.Command{
		Use:   "lineage [SESSION]",
		Short: "Show the ancestors and descendants of sessions",
		Long: `Shows the sessions that SESSION was made from and those that were made from it,
or without SESSION all sessions of the log that have relatives. A session is shown
below its parent, with the kind of the relation, the time and its name. A session
with several parents is shown below the first one and only named below the
others. A parent that is not in the log is shown as missing.

Kinds: fork, branch (by its agent's rules), merge, compress, resume, subagent,
loop, convert, create, detach, or unknown.

With -o json: one object with sessions (id, dialect, kind, parents with session,
kind and entry, name, created, entries, usage, and state: missing, deleted or
erased), edges (from, to, kind) and problem, if a parent is missing or the
relation has a cycle.

With --jsonl or --out: one line for each session in the log, in the export format
of OpenRath.`,
		Example: `sessctl lineage
sessctl lineage 019a --direction ancestors`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(cli.Short, func(ctx context.Context, args []string) error {
			arg := ""
			if len(args) > 0 {
				if arg = args[0]; arg == "" {
					return cli.Usagef("the session id is empty")
				}
			}
			return a.lineage(ctx, arg, f)
		}),
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.jsonl, "jsonl", false, "write lines in the export format of OpenRath")
	cmd.Flags().StringVar(&f.direction, "direction", "both", "the `DIRECTION` to search: ancestors, descendants or both")
	cmd.Flags().BoolVar(&f.all, "all", false, "also show sessions without relatives")
	return cmd
}

type lineageFlags struct {
	cli.OutFlags
	jsonl     bool
	direction string
	all       bool
}

func (a app) lineage(ctx context.Context, arg string, f lineageFlags) error {
	o := client.LineageOptions{Direction: f.direction}
	if !slices.Contains([]string{"ancestors", "descendants", "both"}, f.direction) {
		return cli.Usagef("--direction %.128q is not one of ancestors, descendants and both", f.direction)
	}
	node, err := a.Client()
	if err != nil {
		return err
	}
	if arg != "" {
		_, id, err := a.InLogOrTrash(ctx, arg, false)
		if err != nil {
			return err
		}
		o.Session = string(id)
	}
	if f.jsonl || f.Out != "" {
		return a.exportLineage(ctx, node, o, f.OutFlags)
	}
	l, err := node.Lineage(ctx, o)
	if err != nil {
		return err
	}
	return a.Print(l, func() error { return a.drawLineage(l, core.SessionID(o.Session), f.all || arg != "") })
}

func (a app) exportLineage(ctx context.Context, node *client.Client, o client.LineageOptions, out cli.OutFlags) error {
	body, err := node.LineageJSONL(ctx, o)
	if err != nil {
		return err
	}
	defer body.Close()
	if out.Out != "" && out.Out != "-" {
		if err := atomicfile.MkdirAll(filepath.Dir(filepath.Clean(out.Out))); err != nil {
			return cli.OutError(out, err)
		}
	}
	return a.Deliver(out, true, func(w io.Writer) error {
		_, err := io.Copy(w, cli.Answer{Reader: body})
		return err
	})
}

// drawLineage draws l and marks start. With all it also draws sessions without
// relatives.
func (a app) drawLineage(l api.Lineage, start core.SessionID, all bool) error {
	f := newForest(l.Sessions)
	var b strings.Builder
	alone := 0
	for _, line := range f.lines() {
		if line.alone && !all {
			alone++
			continue
		}
		b.WriteString(a.Stdout.Fit(line.before+a.nodeText(line, start), 0) + "\n")
	}
	if _, err := io.WriteString(a.Stdout, b.String()); err != nil {
		return err
	}
	if alone > 0 {
		a.Notef("%s no relatives; to show them: --all", cli.Count(alone, "session has", "sessions have"))
	}
	if l.Problem != "" {
		a.Notef("%s", l.Problem)
	}
	return nil
}

// nodeText returns the line of a session.
func (a app) nodeText(line treeLine, start core.SessionID) string {
	n := line.node
	text := cli.Plain(string(n.ID))
	if line.parent != nil {
		text = cli.Join("  ", text, string(line.parent.Kind))
	} else if n.Kind != "" && n.Kind != lineage.Unknown {
		text = cli.Join("  ", text, string(n.Kind))
	}
	if line.again {
		return text + "  (see above)"
	}
	if n.ID == start {
		text += "  <-"
	}
	if n.State != "" {
		text += "  [" + cli.Plain(string(n.State)) + "]"
	}
	return cli.Join("  ", text, cli.Plain(a.TimeText(n.Created)), cli.Plain(n.Name))
}
