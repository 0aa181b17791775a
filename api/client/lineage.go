package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// Fork creates a session from a path of this one.
func (c *Client) Fork(ctx context.Context, id string, r api.ForkRequest) (api.Created, error) {
	made, err := send[api.Created](ctx, c, http.MethodPost, c.session(id, "/fork"), keyHeader(r.Key), r)
	return made, noted(ctx, made.ID, err)
}

// LineageOptions narrow a lineage.
type LineageOptions struct {
	Session   string // the one to look from; default all
	Direction string // "ancestors", "descendants" or "both", the default
}

func (o LineageOptions) query() url.Values {
	q := url.Values{}
	setIf(q, "session", o.Session)
	setIf(q, "direction", o.Direction)
	return q
}

// Lineage returns sessions and their parents.
func (c *Client) Lineage(ctx context.Context, o LineageOptions) (api.Lineage, error) {
	return get[api.Lineage](ctx, c, "/v1/lineage", o.query())
}

// LineageJSONL returns the lineage in the format of OpenRath: one line for each
// session in the log. The caller closes the reader.
func (c *Client) LineageJSONL(ctx context.Context, o LineageOptions) (io.ReadCloser, error) {
	q := o.query()
	q.Set("format", "jsonl")
	r, err := c.fetch(ctx, "/v1/lineage", q)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// Merge creates a session from this one and another.
func (c *Client) Merge(ctx context.Context, id string, r api.MergeRequest) (api.Merged, error) {
	made, err := send[api.Merged](ctx, c, http.MethodPost, c.session(id, "/merge"), keyHeader(r.Key), r)
	return made, noted(ctx, made.ID, err)
}

// noted adds a session that was made to the journal of ctx, and returns err.
func noted(ctx context.Context, id core.SessionID, err error) error {
	if err == nil {
		lineage.Note(ctx, id)
	}
	return err
}
