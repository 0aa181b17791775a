package read

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// watchSessions lists the sessions of o, and then each change until ctx ends.
func (a app) watchSessions(ctx context.Context, node *client.Client, o catalog.Filter) error {
	for {
		err := a.watchOnce(ctx, node, o)
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
			return nil
		case errors.Is(err, core.ErrLost):
			a.Notef("the node rebuilt its list, or another node answers; restarting:")
		default:
			return err
		}
	}
}

func (a app) watchOnce(ctx context.Context, node *client.Client, o catalog.Filter) error {
	// The mark is read first, so that no change during the listing is missed. It can
	// be shown twice.
	begin, err := node.List(ctx, catalog.Filter{Limit: 1})
	if err != nil {
		return err
	}
	rows, _, err := cli.AllSessions(ctx, node, o)
	if err != nil {
		return err
	}
	if a.Format != cli.JSON {
		err = a.table(rows).Flush()
	}
	for i := range rows {
		if a.Format == cli.JSON && err == nil {
			err = a.PrintJSON(listed{ID: rows[i].ID, Row: &rows[i]})
		}
	}
	if err != nil {
		return err
	}
	return node.Changes(ctx, o, begin.Mark, func(c api.RowChange) error {
		if a.Format == cli.JSON {
			return a.PrintJSON(listed(c))
		}
		return a.printChange(c)
	})
}

// listed is a row of the list or a change in JSON.
type listed struct {
	ID   core.SessionID `json:"id"`
	Row  *catalog.Row   `json:"row,omitempty"`
	Mark catalog.Mark   `json:"mark,omitempty"`
}

// printChange prints a line. Lines arrive one by one, so they are not aligned.
func (a app) printChange(c api.RowChange) error {
	if c.Row == nil {
		return a.Printf("%s  no longer in this list", cli.Plain(string(c.ID)))
	}
	r := *c.Row
	return a.Printf("%s", cli.Join("  ", cli.Plain(string(r.ID)), cli.Plain(r.Dialect), cli.Plain(a.TimeText(r.Modified)), strconv.Itoa(r.Entries),
		cli.OrDash(cli.Plain(cli.RowState(r))), cli.Plain(cmp.Or(r.Name, r.First))))
}
