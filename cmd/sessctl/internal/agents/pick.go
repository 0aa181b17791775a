package agents

import (
	"cmp"
	"context"
	"strconv"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	maxChoices = 9   // sessions that pick offers
	maxRecent  = 200 // sessions among which it searches for those of this directory
)

// pick returns the session to resume if the user named none: with last, the one of
// this directory that was changed last; otherwise the one that the user chooses.
func (a app) pick(ctx context.Context, last bool) (core.SessionID, error) {
	if !last && !a.CanAsk() {
		return "", cli.Usagef("SESSION is missing: name one, or take the newest of this directory with: sessctl resume --last")
	}
	node, err := a.Client()
	if err != nil {
		return "", err
	}
	rows, here, err := a.choices(ctx, node)
	switch {
	case err != nil:
		return "", err
	case len(rows) == 0 || last && !here:
		return "", cli.Hintf(cli.Usagef("no session continues in this directory"), "list the sessions with: sessctl ls")
	case last:
		return rows[0].ID, nil
	case !here:
		a.Notef("no session continues in this directory; the newest of all are:")
	}
	return a.choose(ctx, rows)
}

// choices returns the sessions to offer, the last changed first: those that continue in
// this directory or, if there are none, all.
func (a app) choices(ctx context.Context, node *client.Client) (rows []catalog.Row, here bool, err error) {
	dir, err := agent.Getwd()
	if err != nil {
		return nil, false, err
	}
	recent, err := node.List(ctx, catalog.Filter{Sort: catalog.SortChanged, Limit: maxRecent})
	if err != nil {
		return nil, false, err
	}
	host, local := a.Host(), map[string]string{}
	for _, r := range recent.Sessions {
		if _, known := local[r.CWD]; !known {
			local[r.CWD] = host.LocalDir(r.CWD)
		}
		if local[r.CWD] == dir {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		old, err := node.List(ctx, catalog.Filter{CWD: dir, Sort: catalog.SortChanged, Limit: maxChoices})
		if err != nil {
			return nil, false, err
		}
		rows = old.Sessions
	}
	if here = len(rows) > 0; !here {
		rows = recent.Sessions
	}
	return rows[:min(len(rows), maxChoices)], here, nil
}

// choose has the user choose one of rows. Without an answer it is the first.
func (a app) choose(ctx context.Context, rows []catalog.Row) (core.SessionID, error) {
	to := *a.App
	to.Stdout = a.Stderr
	g := to.NewGrid()
	g.Colors("", cli.Yellow, cli.Cyan, cli.Dim, cli.Green, cli.Dim, "")
	g.Row("", "ID", "AGENT", "WHEN", "STATE", "PROJECT", "TITLE")
	for i, r := range rows {
		g.Row(strconv.Itoa(i+1), cli.ShortID(r.ShortID, r.ID), r.Dialect, a.Ago(r.LastChange()), cli.RowState(r), cli.Project(r.CWD),
			cmp.Or(r.Name, r.First))
	}
	g.DropEmpty()
	if err := g.Flush(); err != nil {
		return "", err
	}
	answer, err := a.Ask(ctx, "Resume which session? [1]")
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(cmp.Or(answer, "1"))
	if err != nil || n < 1 || n > len(rows) {
		return "", cli.Usagef("%.128q is not a number from 1 to %d", answer, len(rows))
	}
	return rows[n-1].ID, nil
}
