package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
)

// Audit returns a page of the records of what operators did, oldest first.
func (c *Client) Audit(ctx context.Context, q api.AuditQuery) (api.AuditPage, error) {
	v := url.Values{}
	if q.After > 0 {
		v.Set("after", strconv.FormatUint(q.After, 10))
	}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	return get[api.AuditPage](ctx, c, "/v1/audit", v)
}
