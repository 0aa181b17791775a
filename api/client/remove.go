package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/report"
)

// Delete puts the session in the trash, Undelete takes it out.
func (c *Client) Delete(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/delete"), nil, n, nil)
}

// Undelete takes the session out of the trash.
func (c *Client) Undelete(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/undelete"), nil, n, nil)
}

// Finish marks the end of a run.
func (c *Client) Finish(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/close"), nil, n, nil)
}

// Erasable is what there is of a session, see package report.
type Erasable = report.Found

// Erasable returns what there is of a session: what Erase would remove.
func (c *Client) Erasable(ctx context.Context, id string) (Erasable, error) {
	return get[Erasable](ctx, c, c.session(id, "/erase"), nil)
}

// Erase removes a session for good. After an error the same again completes it.
func (c *Client) Erase(ctx context.Context, id string, r api.EraseRequest) (api.Receipt, error) {
	return send[api.Receipt](ctx, c, http.MethodPost, c.session(id, "/erase"), nil, r)
}

// Redact replaces what entries say for good. After an error the same again
// completes it.
func (c *Client) Redact(ctx context.Context, id string, r api.RedactRequest) (api.Redacted, error) {
	return send[api.Redacted](ctx, c, http.MethodPost, c.session(id, "/redact"), nil, r)
}

// Hold sees to it that nothing of a session is deleted, erased or redacted.
func (c *Client) Hold(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/hold"), nil, n, nil)
}

// Unhold ends a hold.
func (c *Client) Unhold(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/unhold"), nil, n, nil)
}

// Holds returns the sessions that are held.
func (c *Client) Holds(ctx context.Context) (api.Holds, error) {
	return get[api.Holds](ctx, c, "/v1/holds", nil)
}

// Plan returns what a policy comes to. Nothing is done yet.
func (c *Client) Plan(ctx context.Context, p api.Policy) (api.Plan, error) {
	return send[api.Plan](ctx, c, http.MethodPost, "/v1/retention/plan", nil, p)
}

// Apply does what a plan says. Sessions that have changed since it was made are
// left alone.
func (c *Client) Apply(ctx context.Context, r api.ApplyRequest) (api.Applied, error) {
	return send[api.Applied](ctx, c, http.MethodPost, "/v1/retention/apply", nil, r)
}
