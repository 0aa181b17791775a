package read

import (
	"cmp"
	"context"
	"reflect"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session/catalog"
)

func lsCmd(a app) *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:   "ls [PREFIX|DIR]",
		Short: "List sessions",
		Long: `Lists the sessions whose id begins with PREFIX, or all, newest first. Flags
filter and order the list. ID is the shortest unique prefix of the id; -o wide
shows the whole id. PROJECT is the last part of the directory, AUTHOR who stored the
session first, HELD BY the person and host that hold it now. STATE is waits if the
agent waits for its user, closed, or deleted. Columns without a value are not shown.

Messages modify a session. It is changed by any entry, also by a label, a name or
another model; an agent takes the session that was changed last as its last one.

An interrupted session is open and held by a writer that is silent: its host
failed, or cannot be reached. Names and texts are matched without case.

With --watch it then prints a line for each session that changes, and says if the
session no longer matches the filter, until it is interrupted or --timeout
passes; both are a success. --sort, --reverse and --limit apply to the list that
comes first.

With a directory it lists the session files in and below it instead, newest first,
without a node: of one profile of an agent, or of all. --cwd, --below, --dialect,
--name, --text and --limit apply.

With -o json: a list with an object for each session: id, agentId (if the agent's
own id differs), dialect, cwd, entries, seq (records), name, first (the beginning
of the first user message), messages, created, modified, changed, usage, size (bytes
of its lines), and by (who stored it first), tags, holder, heads (beside main), waits
(the answer after which the agent waits for its user), closed, deleted and snapshot
if they apply. With
--watch also one object per line for each change: id, row if the session still
matches, and, for a change, mark. Of files: path, id, dialect, cwd, parents, entries,
name, first, messages, created, modified, usage and tags.`,
		Example: `sessctl ls
sessctl ls --cwd "$PWD" --since 7d
sessctl ls --state interrupted --watch
sessctl ls ~/.operator/profiles`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.prefix = args[0]
			}
			if !cmd.Flags().Changed("limit") && a.Format == cli.Table {
				f.limit = tableLimit
			}
			if f.prefix != "" && isDir(f.prefix) {
				ctx, cancel := a.Within(cmd, cli.Forever)
				defer cancel()
				return a.lsFiles(ctx, f)
			}
			if err := checkPrefix(f.prefix); err != nil {
				return err
			}
			if f.limit < 0 {
				return cli.Usagef("--limit %d is below 0", f.limit)
			}
			limit := cli.Short
			if f.watch {
				limit = cli.Forever
			}
			ctx, cancel := a.Within(cmd, limit)
			defer cancel()
			return a.ls(ctx, f)
		},
	}
	f.filter.Add(cmd)
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "then print each change")
	cmd.Flags().StringVar(&f.sort, "sort", "", "order by `KEY`: modified, changed, created, name, size, cost or entries (default modified)")
	cmd.Flags().BoolVar(&f.reverse, "reverse", false, "reverse the order: oldest, smallest or cheapest first; names from Z to A")
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 0, "list at most `N` sessions, 0 for all (default 100 in a table, all in JSON)")
	return cmd
}

type lsFlags struct {
	filter  cli.FilterFlags
	prefix  string
	sort    string
	reverse bool
	limit   int
	watch   bool
}

// tableLimit is how many sessions a table shows by default.
const tableLimit = 100

func (a app) ls(ctx context.Context, f lsFlags) error {
	o, err := f.filter.Options(a.Now())
	if err != nil {
		return err
	}
	if err := cli.ParseSort(&o, f.sort); err != nil {
		return err
	}
	o.Prefix, o.Reverse, o.Limit = f.prefix, f.reverse, f.limit
	node, err := a.Client()
	if err != nil {
		return err
	}
	if f.watch {
		return a.watchSessions(ctx, node, o)
	}
	rows, more, err := cli.AllSessions(ctx, node, o)
	if err != nil {
		return err
	}
	if a.Format == cli.JSON {
		return a.PrintJSON(cli.NotNil(rows))
	}
	if len(rows) == 0 {
		if o.Sort, o.Reverse, o.Limit = "", false, 0; !reflect.DeepEqual(o, catalog.Filter{}) {
			a.Notef("no session matches; list all with: sessctl ls")
			return nil
		}
		a.Notef("no sessions; add one with: sessctl import FILE, or: sessctl run -- AGENT")
		return nil
	}
	if err := a.PrintPage(a.table(rows).String()); err != nil {
		return err
	}
	if more {
		a.Notef("there are more, list all with: --limit 0")
	}
	return nil
}

// table returns rows as a table.
func (a app) table(rows []catalog.Row) *cli.Grid {
	if a.Wide {
		return a.wideTable(rows)
	}
	g := a.NewGrid()
	g.Colors(cli.Yellow, cli.Cyan, cli.Dim, "", "", "", cli.Green, cli.Green, cli.Dim, "")
	g.Row("ID", "AGENT", "WHEN", "MSGS", "COST", "AUTHOR", "HELD BY", "STATE", "PROJECT", "TITLE")
	for _, r := range rows {
		agent := r.Dialect
		if 0 < a.Stdout.Width && a.Stdout.Width < roomForAgent {
			agent = ""
		}
		g.Row(cli.ShortID(r.ShortID, r.ID), agent, a.Ago(cmp.Or(r.Modified, r.Created)), messagesText(r), display.Cost(r.Usage.Cost),
			r.By, cli.RowHolder(r), cli.RowMark(r), cli.Project(r.CWD), cli.OrDash(cmp.Or(r.Name, r.First)))
	}
	g.DropEmpty()
	return g
}

// roomForAgent is the least width of a screen on which the agents are shown.
const roomForAgent = 96

func messagesText(r catalog.Row) string {
	if r.Messages == 0 {
		return ""
	}
	return strconv.Itoa(r.Messages)
}

func (a app) wideTable(rows []catalog.Row) *cli.Grid {
	g := a.NewGrid()
	g.Row("ID", "AGENT", "CREATED", "MODIFIED", "ENTRIES", "RECORDS", "SIZE", "STATE", "TAGS", "NAME", "CWD", "FIRST")
	for _, r := range rows {
		g.Row(string(r.ID), r.Dialect, a.TimeText(r.Created), a.TimeText(r.Modified), strconv.Itoa(r.Entries), cli.Uint(r.Seq), cli.Bytes(r.Size),
			cli.OrDash(cli.RowState(r)), cli.OrDash(strings.Join(r.Tags, ",")), cli.OrDash(r.Name), cli.OrDash(r.CWD), r.First)
	}
	return g
}
