package main

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api"
)

func lsCmd(a *app) *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:   "ls [PREFIX]",
		Short: "List sessions",
		Long: `Lists the sessions whose id begins with PREFIX, or all, newest first. --cwd,
--dialect and --text narrow the list.

With -o json: a list with an object for each session: id, agentId (where the
agent's own id is another), dialect, cwd, entries, seq (records), name, first
(the beginning of the first user message), messages, created, modified, usage,
and tags, holder, closed, deleted and snapshot where there is something to say.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.prefix = args[0]
			}
			if !cmd.Flags().Changed("limit") && a.format == table {
				f.limit = tableLimit
			}
			if f.limit < 0 {
				return usagef("--limit %d is below 0", f.limit)
			}
			ctx, cancel := a.within(cmd, short)
			defer cancel()
			return a.ls(ctx, f)
		},
	}
	cmd.Flags().BoolVar(&f.deleted, "deleted", false, "list the trash instead")
	cmd.Flags().StringArrayVar(&f.tags, "tag", nil, "list only sessions that have this `TAG`, given several times: all of them")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "list only sessions of the directory `DIR`, as their agent wrote it")
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "list only sessions of the agent `NAME`")
	cmd.Flags().StringVar(&f.text, "text", "", "list only sessions with `TEXT` in the name or the first message")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "list at most `N` sessions, 0 for all (default 100 in a table, all in JSON)")
	return cmd
}

type lsFlags struct {
	prefix  string
	cwd     string
	dialect string
	text    string
	deleted bool
	tags    []string
	limit   int
}

const (
	tableLimit = 100
	pageSize   = 500
)

func (a *app) ls(ctx context.Context, f lsFlags) error {
	node, err := a.client()
	if err != nil {
		return err
	}
	rows, more, err := allSessions(ctx, node, f)
	if err != nil {
		return err
	}
	if a.format == asJSON {
		return a.printJSON(notNil(rows))
	}
	if len(rows) == 0 {
		a.notef("no sessions; bring one in with: sessctl import FILE")
		return nil
	}
	if err := a.printRows(rows); err != nil {
		return err
	}
	if more {
		a.notef("there are more, list all with: --limit 0")
	}
	return nil
}

// allSessions lists page by page, up to f.limit, and reports whether there are
// more.
func allSessions(ctx context.Context, node *api.Client, f lsFlags) (rows []api.Row, more bool, err error) {
	after := ""
	for {
		size := pageSize
		if f.limit > 0 && len(f.tags) == 0 {
			size = min(size, f.limit-len(rows))
		}
		page, err := node.List(ctx, api.ListOptions{Prefix: f.prefix, CWD: f.cwd, Dialect: f.dialect, Text: f.text, Deleted: f.deleted, Limit: size, After: after})
		if err != nil {
			return nil, false, err
		}
		for _, r := range page.Sessions {
			if f.limit > 0 && len(rows) >= f.limit {
				return rows, true, nil
			}
			if hasTags(r, f.tags) {
				rows = append(rows, r)
			}
		}
		if page.Next == "" || page.Next == after {
			return rows, false, nil
		}
		if f.limit > 0 && len(rows) >= f.limit {
			return rows, true, nil
		}
		after = page.Next
	}
}

// hasTags reports whether r has every one of tags.
func hasTags(r api.Row, tags []string) bool {
	return !slices.ContainsFunc(tags, func(t string) bool { return !slices.Contains(r.Tags, t) })
}

func (a *app) printRows(rows []api.Row) error {
	g := a.newGrid()
	g.add("ID", "AGENT", "MODIFIED", "ENTRIES", "STATE", "TITLE")
	for _, r := range rows {
		modified := r.Modified
		if modified == "" {
			modified = r.Created
		}
		title := join("  ", r.Name, r.First)
		if title == "" {
			title = r.CWD
		}
		g.add(string(r.ID), r.Dialect, a.whenText(modified), strconv.Itoa(r.Entries), stateOf(r), title)
	}
	return g.flush()
}

// stateOf says in a word or two what else one would want to know of r.
func stateOf(r api.Row) string {
	switch {
	case r.Deleted:
		return "deleted"
	case r.Holder != nil:
		who := r.Holder.Agent
		if who == "" {
			who = r.Holder.By
		}
		return join("@", orSomebody(who), r.Holder.Host)
	case r.Closed:
		return "closed"
	}
	return "-"
}

func orSomebody(who string) string {
	if who == "" {
		return "held"
	}
	return who
}
