package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
)

// ToRebuild says what Rebuild would do.
func (c *Client) ToRebuild(ctx context.Context) (api.Rebuilt, error) {
	return get[api.Rebuilt](ctx, c, "/v1/rebuild", nil)
}

// Rebuild has the node drop all that it made of the log, rows and what searches
// need, and read the log anew; it returns when that is done. The log and the
// object store stay as they are. When ctx ends before, the node goes on.
func (c *Client) Rebuild(ctx context.Context) (api.Rebuilt, error) {
	return send[api.Rebuilt](ctx, c, http.MethodPost, "/v1/rebuild", nil, struct{}{})
}
