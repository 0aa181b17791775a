package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/access"
)

// Whoami returns the rights of the client's token.
func (c *Client) Whoami(ctx context.Context) (api.Whoami, error) {
	return get[api.Whoami](ctx, c, "/v1/whoami", nil)
}

// Tokens returns the log's tokens, the oldest first.
func (c *Client) Tokens(ctx context.Context) ([]access.Token, error) {
	l, err := get[api.TokenList](ctx, c, "/v1/tokens", nil)
	return l.Tokens, err
}

// CreateToken creates a token. Its secret is in the answer and nowhere else.
func (c *Client) CreateToken(ctx context.Context, q api.TokenRequest) (access.Issued, error) {
	return send[access.Issued](ctx, c, http.MethodPost, "/v1/tokens", nil, q)
}

// RotateToken gives the token called id a new secret, which is in the answer and
// nowhere else.
func (c *Client) RotateToken(ctx context.Context, id string, q api.RotateRequest) (access.Issued, error) {
	return send[access.Issued](ctx, c, http.MethodPost, "/v1/tokens/"+url.PathEscape(id)+"/rotate", nil, q)
}

// RevokeToken revokes the token called id permanently.
func (c *Client) RevokeToken(ctx context.Context, id string, n api.Notice) (access.Token, error) {
	return c.revoke(ctx, "/v1/tokens/"+url.PathEscape(id), n)
}

func (c *Client) revoke(ctx context.Context, path string, n api.Notice) (t access.Token, err error) {
	q := url.Values{}
	setIf(q, "by", n.By)
	setIf(q, "host", n.Host)
	setIf(q, "why", n.Why)
	err = c.do(ctx, http.MethodDelete, path, q, nil, nil, 0, &t)
	return t, err
}

// Share creates a share link of a session. Its secret is in the answer and nowhere
// else.
func (c *Client) Share(ctx context.Context, id string, q api.ShareRequest) (access.Issued, error) {
	return send[access.Issued](ctx, c, http.MethodPost, c.session(id, "/shares"), nil, q)
}

// Shares returns the share links of a session, or of all if id is empty, oldest first.
func (c *Client) Shares(ctx context.Context, id string) ([]access.Token, error) {
	q := url.Values{}
	setIf(q, "session", id)
	list, err := get[api.ShareList](ctx, c, "/v1/shares", q)
	return list.Shares, err
}

// Unshare revokes a share link of a session permanently.
func (c *Client) Unshare(ctx context.Context, id, link string, n api.Notice) (access.Token, error) {
	return c.revoke(ctx, c.session(id, "/shares/"+url.PathEscape(link)), n)
}

// Shared returns what the client's share link shows.
func (c *Client) Shared(ctx context.Context) (api.Shared, error) {
	return get[api.Shared](ctx, c, "/v1/shared", nil)
}
