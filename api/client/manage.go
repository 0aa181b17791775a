package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/session"
)

// CreateWhole makes a session of its header's line and its entries' lines, in
// one record. With a key the same request again is the same session.
func (c *Client) CreateWhole(ctx context.Context, n session.New) (api.Created, error) {
	q := url.Values{}
	setIf(q, "dialect", n.Dialect)
	setIf(q, "by", n.By)
	h := http.Header{"Content-Type": {"application/x-ndjson"}}
	headIf(h, api.HeaderIdempotency, n.Key)
	var out api.Created
	body := joined(append([][]byte{n.Header}, n.Lines...))
	err := c.do(ctx, http.MethodPost, "/v1/sessions", q, h, body, int64(body.Len()), &out)
	return out, err
}

// Branch makes a head go on from another place, with a summary of the branch
// that it leaves where there is one. An agent that has an entry for it gets
// that, for any other the head is moved.
func (c *Client) Branch(ctx context.Context, id string, r api.BranchRequest, o AppendOptions) (api.Appended, error) {
	h := o.header()
	headIf(h, "If-Match", o.After)
	return send[api.Appended](ctx, c, http.MethodPost, c.session(id, "/branch"), h, r)
}

// Children returns the lines of the entries that hang on the entry called of,
// oldest first, or of the roots where of is empty.
func (c *Client) Children(ctx context.Context, id, of string) ([][]byte, error) {
	q := url.Values{}
	setIf(q, "of", of)
	return c.readLines(ctx, c.session(id, "/children"), q)
}

// Amend gives an entry another line with the same id, parent and type. With
// o.After nothing at all may have come to the session since, unless the line is
// there already: a *core.ConflictError is in the error's chain then. Without it
// a request whose answer was lost may undo, late, what was amended since.
func (c *Client) Amend(ctx context.Context, id, entry string, line []byte, o AppendOptions) (api.Amended, error) {
	h := o.header()
	headIf(h, "If-Match", o.After)
	h.Set("Content-Type", "application/x-ndjson")
	var out api.Amended
	body := joined([][]byte{line})
	err := c.do(ctx, http.MethodPatch, c.session(id, "/entries/"+url.PathEscape(entry)), nil, h, body, int64(body.Len()), &out)
	return out, err
}

// SetMeta replaces what a message says of the channel that it came through.
func (c *Client) SetMeta(ctx context.Context, id, entry string, meta json.RawMessage, o AppendOptions) (api.Amended, error) {
	return send[api.Amended](ctx, c, http.MethodPut, c.session(id, "/entries/"+url.PathEscape(entry)+"/meta"), o.header(), meta)
}

// React adds a reaction to a message that came through a channel.
func (c *Client) React(ctx context.Context, id string, r api.ReactionRequest, o AppendOptions) (api.Amended, error) {
	return send[api.Amended](ctx, c, http.MethodPost, c.session(id, "/reactions"), o.header(), r)
}
