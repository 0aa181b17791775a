package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
)

// Digest returns the digest of a session's header and first entries.
func (c *Client) Digest(ctx context.Context, id string, entries int) (api.Digested, error) {
	return get[api.Digested](ctx, c, c.session(id, "/digest"), url.Values{"entries": {strconv.Itoa(entries)}})
}
