package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/report"
)

// Delete moves the session to the trash.
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

// Erasable returns what Erase would remove.
func (c *Client) Erasable(ctx context.Context, id string) (report.Found, error) {
	return get[report.Found](ctx, c, c.session(id, "/erase"), nil)
}

// Erase removes a session permanently. After an error, retry the same request to
// complete it.
func (c *Client) Erase(ctx context.Context, id string, r api.EraseRequest) (report.Receipt, error) {
	return send[report.Receipt](ctx, c, http.MethodPost, c.session(id, "/erase"), nil, r)
}

// Redact replaces entries permanently. After an error, retry the same request to
// complete it.
func (c *Client) Redact(ctx context.Context, id string, r api.RedactRequest) (api.Redacted, error) {
	return send[api.Redacted](ctx, c, http.MethodPost, c.session(id, "/redact"), nil, r)
}

// Hold prevents a session from being deleted, erased or redacted.
func (c *Client) Hold(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/hold"), nil, n, nil)
}

// Unhold ends a hold.
func (c *Client) Unhold(ctx context.Context, id string, n api.Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/unhold"), nil, n, nil)
}

// Holds returns the sessions on legal hold.
func (c *Client) Holds(ctx context.Context) (api.Holds, error) {
	return get[api.Holds](ctx, c, "/v1/holds", nil)
}

// Plan returns what a policy would do. Nothing is changed.
func (c *Client) Plan(ctx context.Context, p report.Policy) (report.Plan, error) {
	return send[report.Plan](ctx, c, http.MethodPost, "/v1/retention/plan", nil, p)
}

// Apply executes a plan. It skips sessions that changed since the plan was made.
func (c *Client) Apply(ctx context.Context, r api.ApplyRequest) (api.Applied, error) {
	return send[api.Applied](ctx, c, http.MethodPost, "/v1/retention/apply", nil, r)
}
