package client

import (
	"context"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// BlobStat looks at one blob, without its bytes.
func (c *Client) BlobStat(ctx context.Context, d core.Digest) (api.BlobStat, error) {
	return get[api.BlobStat](ctx, c, "/v1/blobs/"+d.String()+"/info", nil)
}

// VerifyBlob reads the bytes of a blob from where it is stored.
func (c *Client) VerifyBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
	return get[api.BlobReport](ctx, c, "/v1/blobs/"+d.String()+"/verify", nil)
}

// RepairBlob is VerifyBlob that writes a blob again that is not sound, if the
// node has its bytes in memory or on its disk.
func (c *Client) RepairBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
	return send[api.BlobReport](ctx, c, http.MethodPost, "/v1/blobs/"+d.String()+"/repair", nil, struct{}{})
}
