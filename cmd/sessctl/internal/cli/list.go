package cli

import (
	"context"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/session/catalog"
)

// AllSessions lists sessions page by page, up to o.Limit if it is not 0. It reports
// whether there are more.
func AllSessions(ctx context.Context, node *client.Client, o catalog.Filter) (rows []catalog.Row, more bool, err error) {
	limit := o.Limit
	for {
		o.Limit = PageSize
		if limit > 0 {
			o.Limit = min(PageSize, limit-len(rows))
		}
		page, err := node.List(ctx, o)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, page.Sessions...)
		if page.Next == "" || page.Next == o.After || limit > 0 && len(rows) >= limit {
			return rows, page.Next != "" && page.Next != o.After, nil
		}
		o.After = page.Next
	}
}

// PageSize is how many rows are requested at a time.
const PageSize = 500

// RowState returns the state of a session for a table: deleted, its holder, closed,
// or "-".
func RowState(r catalog.Row) string {
	switch {
	case r.Deleted:
		return "deleted"
	case r.Holder != nil:
		who := r.Holder.Agent
		if who == "" {
			who = r.Holder.By
		}
		return Join("@", orHeld(who), r.Holder.Host)
	case r.Closed:
		return "closed"
	}
	return "-"
}

func orHeld(who string) string {
	if who == "" {
		return "held"
	}
	return who
}
