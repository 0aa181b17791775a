package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// Presence returns the active writers and those that were active recently.
func (c *Client) Presence(ctx context.Context) (api.PresenceList, error) {
	return get[api.PresenceList](ctx, c, "/v1/presence", nil)
}

// Announcer returns an announcer that keeps this process present at the node
// while it has claims.
func (c *Client) Announcer() *session.Announcer {
	return &session.Announcer{Heartbeat: c.Beat, Leave: c.Leave}
}

// Beat announces this process and its claims. Repeat it every
// session.HeartbeatEvery.
func (c *Client) Beat(ctx context.Context, p session.Presence) error {
	err := c.sendJSON(ctx, http.MethodPut, "/v1/presence/"+url.PathEscape(p.ID), nil, p, nil)
	if p.More > 0 && errors.Is(err, core.ErrInvalid) { // an older node without the member more
		p.More = 0
		return c.Beat(ctx, p)
	}
	return err
}

// Leave ends the presence of this process. It may be repeated.
func (c *Client) Leave(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/v1/presence/"+url.PathEscape(id), nil, nil, nil, 0, nil)
}
