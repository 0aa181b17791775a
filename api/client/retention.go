package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
)

// Plan returns what a policy comes to. Nothing is done yet.
func (c *Client) Plan(ctx context.Context, p api.Policy) (api.Plan, error) {
	return send[api.Plan](ctx, c, http.MethodPost, "/v1/retention/plan", nil, p)
}

// Apply does what a plan says. Sessions that have changed since it was made are
// left alone.
func (c *Client) Apply(ctx context.Context, r api.ApplyRequest) (api.Applied, error) {
	return send[api.Applied](ctx, c, http.MethodPost, "/v1/retention/apply", nil, r)
}
