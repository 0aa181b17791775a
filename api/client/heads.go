package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// Move moves a head to an entry, and creates the head if needed.
func (c *Client) Move(ctx context.Context, id, head string, r api.MoveRequest, writer string) (api.Info, error) {
	h := http.Header{}
	headIf(h, api.HeaderWriter, writer)
	headIf(h, "If-Match", r.After)
	return send[api.Info](ctx, c, http.MethodPut, c.session(id, "/heads/"+url.PathEscape(head)), h, r)
}

// Claim claims a head.
func (c *Client) Claim(ctx context.Context, id string, r core.ClaimRequest) (api.Claimed, error) {
	return send[api.Claimed](ctx, c, http.MethodPost, c.session(id, "/claims"), nil, r)
}

// Release ends a claim.
func (c *Client) Release(ctx context.Context, id, head, writer string) error {
	return c.do(ctx, http.MethodDelete, c.session(id, "/claims/"+url.PathEscape(writer)), View{Head: head}.query(), nil, nil, 0, nil)
}

// Heads returns the heads of a session: their leaves and claims.
func (c *Client) Heads(ctx context.Context, id string) (api.Heads, error) {
	return get[api.Heads](ctx, c, c.session(id, "/heads"), nil)
}

// Branch moves a head to another entry, optionally with a summary of the branch
// that it leaves. It appends the agent's own entry for that if the agent has one.
func (c *Client) Branch(ctx context.Context, id string, r api.BranchRequest, o AppendOptions) (core.Receipt, error) {
	h := o.header()
	headIf(h, "If-Match", o.After)
	return send[core.Receipt](ctx, c, http.MethodPost, c.session(id, "/branch"), h, r)
}
