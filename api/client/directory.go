package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session/catalog"
)

// query is o as a request has it.
func listQuery(o catalog.Filter) url.Values {
	q := url.Values{}
	setIf(q, "prefix", o.Prefix)
	setIf(q, "cwd", o.CWD)
	setIf(q, "dialect", o.Dialect)
	setIf(q, "holder", o.Holder)
	setIf(q, "label", o.Label)
	setIf(q, "name", o.Name)
	setIf(q, "text", o.Text)
	setIf(q, "fuzzy", o.Fuzzy)
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
		q.Set("order", map[bool]string{true: "desc", false: "asc"}[cmp.Or(o.Sort, catalog.SortModified) == catalog.SortName])
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

func setTimes(q url.Values, from, to string, r catalog.Range[time.Time]) {
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

// List returns a page of sessions, the latest modified first unless o says
// otherwise.
func (c *Client) List(ctx context.Context, o catalog.Filter) (api.List, error) {
	return get[api.List](ctx, c, "/v1/sessions", listQuery(o))
}

// ListAll calls f with page after page of sessions, and with how many sessions were
// listed so far, until there are no more or f returns an error. o.Limit is the size
// of a page.
func (c *Client) ListAll(ctx context.Context, o catalog.Filter, f func(page []catalog.Row, listed int) error) error {
	for listed := 0; ; {
		page, err := c.List(ctx, o)
		if err != nil {
			return err
		}
		listed += len(page.Sessions)
		if err := f(page.Sessions, listed); err != nil {
			return err
		}
		if page.Next == "" || page.Next == o.After {
			return nil
		}
		o.After = page.Next
	}
}

// Search returns a page of hits in the texts of sessions, newest first.
func (c *Client) Search(ctx context.Context, q catalog.SearchQuery) (catalog.SearchPage, error) {
	o := q.Sessions
	o.Limit, o.After = q.Limit, ""
	v := listQuery(o)
	v.Set("q", q.Text)
	setIf(v, "session", string(q.Session))
	setIf(v, "before", q.Before)
	setTimes(v, "from", "to", q.Time)
	return get[catalog.SearchPage](ctx, c, "/v1/search", v)
}

// Changes calls f with each row that changes after a mark, and reconnects when
// the stream breaks, until f fails or ctx ends. An empty mark means now. It
// returns core.ErrLost if the node does not know the mark, as after it rebuilt
// its directory or if it is another node: list again and continue from the new
// mark.
func (c *Client) Changes(ctx context.Context, o catalog.Filter, after catalog.Mark, f func(api.RowChange) error) error {
	for {
		err := c.changesOnce(ctx, o, &after, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, core.ErrUnavailable) {
			return err
		}
		if err := retry.Wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *Client) changesOnce(ctx context.Context, o catalog.Filter, after *catalog.Mark, f func(api.RowChange) error) error {
	o.After, o.Limit = "", 0
	q := listQuery(o)
	setIf(q, "after", string(*after))
	r, err := c.send(ctx, http.MethodGet, "/v1/sessions/changes", q, http.Header{"Accept": {"text/event-stream"}}, nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return readSSE(r.Body, func(kind, id string, data []byte) error {
		if id != "" && len(data) == 0 {
			*after = catalog.Mark(id) // where an empty mark was
			return nil
		}
		if kind == "problem" {
			return readEventProblem(data)
		}
		var ch api.RowChange
		if err := json.Unmarshal(data, &ch); err != nil {
			return fmt.Errorf("a change that is no JSON: %w", err)
		}
		if err := f(ch); err != nil {
			return err
		}
		*after = ch.Mark
		return nil
	})
}

// Prompts returns a page of the prompts that people gave, newest first.
func (c *Client) Prompts(ctx context.Context, q catalog.PromptQuery) (catalog.PromptPage, error) {
	v := url.Values{}
	setIf(v, "q", q.Text)
	setIf(v, "cwd", q.CWD)
	setIf(v, "session", string(q.Session))
	setIf(v, "dialect", q.Dialect)
	setIf(v, "before", q.Before)
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[catalog.PromptPage](ctx, c, "/v1/prompts", v)
}
