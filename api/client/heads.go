package client

import (
	"context"

	"github.com/sesslog/sesslog/api"
)

// Heads returns the heads of a session: where they stand and who holds them.
func (c *Client) Heads(ctx context.Context, id string) (api.Heads, error) {
	return get[api.Heads](ctx, c, c.session(id, "/heads"), nil)
}
