package cli

import (
	"cmp"
	"context"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// AllSessions lists sessions page by page, up to o.Limit if it is not 0. It reports
// whether there are more.
func AllSessions(ctx context.Context, node *client.Client, o catalog.Filter) (rows []catalog.Row, more bool, err error) {
	return Pages(o.Limit, o.After, func(n int, after string) ([]catalog.Row, string, error) {
		o.Limit, o.After = n, after
		page, err := node.List(ctx, o)
		return page.Sessions, page.Next, err
	})
}

// Pages calls page, beginning at at, until it has limit items, or all if limit is 0.
// page returns up to n items and where the next page begins, empty if there is none.
// Pages reports whether there are more.
func Pages[T any](limit int, at string, page func(n int, at string) (items []T, next string, err error)) (all []T, more bool, err error) {
	for {
		n := PageSize
		if limit > 0 {
			n = min(n, limit-len(all))
		}
		items, next, err := page(n, at)
		if err != nil {
			return nil, false, err
		}
		all = append(all, items...)
		if next == "" || next == at || limit > 0 && len(all) >= limit {
			return all, next != "" && next != at, nil
		}
		at = next
	}
}

// PageSize is how many rows are requested at a time.
const PageSize = 500

// RowState returns the state of a session for a table: deleted, its holder, or
// closed; otherwise it is empty.
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
	return ""
}

// RowHolder returns the person and the host that hold a session now, or "".
func RowHolder(r catalog.Row) string {
	if r.Holder == nil {
		return ""
	}
	return orHeld(Who(r.Holder))
}

// Who returns the person, or else the agent, and the host of a claim.
func Who(c *core.Claim) string { return Join("@", cmp.Or(c.By, c.Agent), c.Host) }

// RowMark returns deleted, waits if the agent waits for its user, closed, or "".
func RowMark(r catalog.Row) string {
	switch {
	case r.Deleted:
		return "deleted"
	case r.Holder != nil && r.Waits != "":
		return "waits"
	case r.Closed:
		return "closed"
	}
	return ""
}

func orHeld(who string) string {
	if who == "" {
		return "held"
	}
	return who
}
