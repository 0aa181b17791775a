package web

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

// pageSize is how many sessions, hits or nodes of a tree a page has.
const pageSize = 100

// A sessionsPage lists sessions.
type sessionsPage struct {
	Filter   url.Values
	Sessions []catalog.Row
	Next     string // address of the next page
	Live     string // address of changes; only of the first page
	Sorts    []catalog.Sort
	States   []catalog.State
	Dialects []string
}

// Narrowed reports whether the list has a filter besides that of texts.
func (p sessionsPage) Narrowed() bool {
	for name, values := range p.Filter {
		if name != "text" && name != "after" && strings.Join(values, "") != "" {
			return true
		}
	}
	return false
}

// filterOf reads the filter of the list. Fields that are empty do not narrow it.
func filterOf(q url.Values) catalog.Filter {
	f := catalog.Filter{
		Text: q.Get("text"), Dialect: q.Get("dialect"), CWD: strings.TrimSpace(q.Get("cwd")), Holder: q.Get("holder"),
		Label: q.Get("label"), State: catalog.State(q.Get("state")), Sort: catalog.Sort(q.Get("sort")),
		Deleted: q.Get("deleted") != "", After: q.Get("after"), Limit: pageSize,
	}
	f.Below = f.CWD != ""
	if tag := q.Get("tag"); tag != "" {
		f.Tags = []string{tag}
	}
	f.Modified.From, f.Modified.To = day(q.Get("from"), 0), day(q.Get("to"), 24*time.Hour-time.Millisecond)
	return f
}

// day returns a time on a day, or nil if text is not one.
func day(text string, add time.Duration) *time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil
	}
	t = t.Add(add)
	return &t
}

func (p *page) sessions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	list, err := p.client(r).List(r.Context(), filterOf(q))
	if err != nil {
		return err
	}
	view := sessionsPage{Filter: q, Sessions: list.Sessions, Sorts: catalog.Sorts, States: catalog.States, Dialects: slices.Sorted(maps.Keys(p.dialects))}
	if list.Next != "" {
		next := maps.Clone(q)
		next.Set("after", list.Next)
		view.Next = "/?" + next.Encode()
	}
	if q.Get("after") == "" {
		live := maps.Clone(q)
		live.Set("at", string(list.Mark))
		view.Live = "/live?" + live.Encode()
	}
	return p.show(w, http.StatusOK, "sessions.html", view)
}

// liveSessions sends the rows of sessions that change. If the node does not know the mark,
// as after a load balancer selected another node, it sends the list again.
func (p *page) liveSessions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := filterOf(q)
	return p.stream(w, r, func(ctx context.Context, c *client.Client, send func(kind, id, data string) error) error {
		change := func(ch api.RowChange) error {
			if ch.Row == nil {
				return send("gone", string(ch.Mark), string(ch.ID))
			}
			var out bytes.Buffer
			if err := templates().ExecuteTemplate(&out, "row", ch.Row); err != nil {
				return err
			}
			return send("row", string(ch.Mark), out.String())
		}
		err := c.Changes(ctx, f, catalog.Mark(lastID(r)), change)
		if !errors.Is(err, core.ErrLost) {
			return err
		}
		list, err := c.List(ctx, f)
		if err != nil {
			return err
		}
		for i := len(list.Sessions) - 1; i >= 0; i-- { // the page puts each above the others
			if err := change(api.RowChange{Row: &list.Sessions[i]}); err != nil {
				return err
			}
		}
		return c.Changes(ctx, f, list.Mark, change)
	})
}
