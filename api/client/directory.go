package client

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/materializer"
)

// ListOptions narrow and order a listing. The zero value of a field narrows
// nothing.
type ListOptions = materializer.Filter

// SearchPage is an answer of GET /v1/search, the newest first.
type SearchPage = materializer.SearchPage

// query is o as a request has it.
func listQuery(o ListOptions) url.Values {
	q := url.Values{}
	setIf(q, "prefix", o.Prefix)
	setIf(q, "cwd", o.CWD)
	setIf(q, "dialect", o.Dialect)
	setIf(q, "holder", o.Holder)
	setIf(q, "label", o.Label)
	setIf(q, "name", o.Name)
	setIf(q, "text", o.Text)
	setIf(q, "state", string(o.State))
	setIf(q, "after", o.After)
	setIf(q, "sort", string(o.Sort))
	if len(o.Tags) > 0 {
		q["tag"] = slices.Clone(o.Tags)
	}
	for name, is := range map[string]bool{"deleted": o.Deleted, "below": o.Below} {
		if is {
			q.Set(name, "true")
		}
	}
	if o.Reverse {
		q.Set("order", map[bool]string{true: "desc", false: "asc"}[cmp.Or(o.Sort, materializer.SortModified) == materializer.SortName])
	}
	setTimes(q, "createdFrom", "createdTo", o.Created)
	setTimes(q, "modifiedFrom", "modifiedTo", o.Modified)
	setNumber(q, "minSize", o.Size.From)
	setNumber(q, "maxSize", o.Size.To)
	setNumber(q, "minCost", o.Cost.From)
	setNumber(q, "maxCost", o.Cost.To)
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	return q
}

func setTimes(q url.Values, from, to string, r materializer.Range[time.Time]) {
	if r.From != nil {
		q.Set(from, r.From.Format(time.RFC3339Nano))
	}
	if r.To != nil {
		q.Set(to, r.To.Format(time.RFC3339Nano))
	}
}

func setNumber[T int64 | float64](q url.Values, name string, v *T) {
	if v != nil {
		q.Set(name, fmt.Sprint(*v))
	}
}

// List returns a page of sessions: the latest modified first, where o does not
// say otherwise.
func (c *Client) List(ctx context.Context, o ListOptions) (api.List, error) {
	return get[api.List](ctx, c, "/v1/sessions", listQuery(o))
}

// Search returns a page of what was found in the texts of sessions, the newest
// first.
func (c *Client) Search(ctx context.Context, q api.SearchQuery) (SearchPage, error) {
	o := q.Sessions
	o.Limit, o.After = q.Limit, ""
	v := listQuery(o)
	v.Set("q", q.Text)
	setIf(v, "session", string(q.Session))
	setIf(v, "before", q.Before)
	setTimes(v, "from", "to", q.Time)
	return get[SearchPage](ctx, c, "/v1/search", v)
}
