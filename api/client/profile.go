package client

import (
	"context"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// InfoBy is Info by the rules of a profile, such as "pi@0.73"; empty for the
// session's own.
func (c *Client) InfoBy(ctx context.Context, id, profile string) (api.Info, error) {
	return get[api.Info](ctx, c, c.session(id, ""), byProfile(profile))
}

// TreeBy is Tree by the rules of a profile; empty for the session's own.
func (c *Client) TreeBy(ctx context.Context, id, profile string) ([]core.TreeNode, error) {
	return get[[]core.TreeNode](ctx, c, c.session(id, "/tree"), byProfile(profile))
}

func byProfile(profile string) url.Values {
	q := url.Values{}
	setIf(q, "profile", profile)
	return q
}
