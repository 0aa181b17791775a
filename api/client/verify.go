package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core/report"
)

// Verify checks a session's records, snapshot and blobs.
func (c *Client) Verify(ctx context.Context, id string) (api.Report, error) {
	return get[api.Report](ctx, c, c.session(id, "/verify"), nil)
}

// Repair is Verify and repairs what another copy allows. The report has what
// remains.
func (c *Client) Repair(ctx context.Context, id string) (api.Report, error) {
	return send[api.Report](ctx, c, http.MethodPost, c.session(id, "/repair"), nil, struct{}{})
}

// AcceptLoss is Repair that first accepts that the log has lost records of the
// session: it can be written again.
func (c *Client) AcceptLoss(ctx context.Context, id string) (api.Report, error) {
	return send[api.Report](ctx, c, http.MethodPost, c.session(id, "/repair?acceptLoss=true"), nil, struct{}{})
}

// VerifyLog checks the log as a whole and lists all of its sessions, including
// those that cannot be read.
func (c *Client) VerifyLog(ctx context.Context) (api.LogReport, error) {
	return get[api.LogReport](ctx, c, "/v1/verify", nil)
}

// Doctor makes the node check everything. With fix it repairs what is safe to
// repair.
func (c *Client) Doctor(ctx context.Context, fix bool) (report.Examination, error) {
	if fix {
		return send[report.Examination](ctx, c, http.MethodPost, "/v1/doctor", nil, struct{}{})
	}
	return get[report.Examination](ctx, c, "/v1/doctor", nil)
}

// ToRebuild says what Rebuild would do.
func (c *Client) ToRebuild(ctx context.Context) (api.Rebuilt, error) {
	return get[api.Rebuilt](ctx, c, "/v1/rebuild", nil)
}

// Rebuild makes the node drop what it derived from the log, the directory and the
// search index, and read the log again. It returns when that is done. If ctx ends
// before, the node continues.
func (c *Client) Rebuild(ctx context.Context) (api.Rebuilt, error) {
	return send[api.Rebuilt](ctx, c, http.MethodPost, "/v1/rebuild", nil, struct{}{})
}
