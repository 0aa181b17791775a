package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
)

// CollectBlobs moves blobs that no session names to the trash and deletes those
// that lay there for a grace; without q.Apply it says what it would do. It takes a
// reading of all sessions.
func (c *Client) CollectBlobs(ctx context.Context, q api.GCRequest) (api.GCReport, error) {
	return send[api.GCReport](ctx, c, http.MethodPost, "/v1/blobs/gc", nil, q)
}
