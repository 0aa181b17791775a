package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/materializer/doctor"
)

// Examination is what a node found when it looked at everything.
type Examination = doctor.Report

// Doctor has the node look at everything. With fix it mends what is safe to mend.
func (c *Client) Doctor(ctx context.Context, fix bool) (Examination, error) {
	if fix {
		return send[Examination](ctx, c, http.MethodPost, "/v1/doctor", nil, struct{}{})
	}
	return get[Examination](ctx, c, "/v1/doctor", nil)
}
