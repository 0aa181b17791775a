package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/report"
)

// Verify walks a session's records, snapshot and blobs.
func (c *Client) Verify(ctx context.Context, id string) (api.Report, error) {
	return get[api.Report](ctx, c, c.session(id, "/verify"), nil)
}

// Repair is Verify that mends what another copy can mend. The report says what
// is still wrong then.
func (c *Client) Repair(ctx context.Context, id string) (api.Report, error) {
	return send[api.Report](ctx, c, http.MethodPost, c.session(id, "/repair"), nil, struct{}{})
}

// VerifyLog looks at the log as a whole, and names all of its sessions, also
// those that no listing has because they cannot be read.
func (c *Client) VerifyLog(ctx context.Context) (api.LogReport, error) {
	return get[api.LogReport](ctx, c, "/v1/verify", nil)
}

// Examination is what a node found when it looked at everything.
type Examination = report.Examination

// Doctor has the node look at everything. With fix it mends what is safe to mend.
func (c *Client) Doctor(ctx context.Context, fix bool) (Examination, error) {
	if fix {
		return send[Examination](ctx, c, http.MethodPost, "/v1/doctor", nil, struct{}{})
	}
	return get[Examination](ctx, c, "/v1/doctor", nil)
}

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
