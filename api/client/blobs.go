package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// BlobBytes returns a blob and verifies its digest.
func (c *Client) BlobBytes(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := c.bytes(ctx, "/v1/blobs/"+d.String())
	if err == nil && core.DigestOf(b) != d {
		err = fmt.Errorf("blob %s came as other bytes: %w", d, core.ErrCorrupt)
	}
	return b, err
}

// BlobStat returns what is known about a blob without reading it.
func (c *Client) BlobStat(ctx context.Context, d core.Digest) (api.BlobStat, error) {
	return get[api.BlobStat](ctx, c, "/v1/blobs/"+d.String()+"/info", nil)
}

// VerifyBlob reads the bytes of a blob from where it is stored.
func (c *Client) VerifyBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
	return get[api.BlobReport](ctx, c, "/v1/blobs/"+d.String()+"/verify", nil)
}

// RepairBlob verifies a blob and writes it again if it is damaged and the node
// has a copy in memory or on disk.
func (c *Client) RepairBlob(ctx context.Context, d core.Digest) (api.BlobReport, error) {
	return send[api.BlobReport](ctx, c, http.MethodPost, "/v1/blobs/"+d.String()+"/repair", nil, struct{}{})
}

// Blobs returns a page of the blobs.
func (c *Client) Blobs(ctx context.Context, after string, limit int) (api.BlobList, error) {
	q := url.Values{}
	setIf(q, "after", after)
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return get[api.BlobList](ctx, c, "/v1/blobs", q)
}

// Blob returns the bytes of a blob. The caller closes the reader.
func (c *Client) Blob(ctx context.Context, d core.Digest) (io.ReadCloser, error) {
	r, err := c.fetch(ctx, "/v1/blobs/"+d.String(), nil)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// PutBlob stores bytes under their digest. Storing an existing blob is not an
// error.
func (c *Client) PutBlob(ctx context.Context, b []byte) error {
	h := http.Header{"Content-Type": {"application/octet-stream"}}
	return c.do(ctx, http.MethodPut, "/v1/blobs/"+core.DigestOf(b).String(), nil, h, bytes.NewReader(b), int64(len(b)), nil)
}

// CollectBlobs moves blobs that no session refers to into the trash, and deletes
// those that were there for the grace period. Without q.Apply it only reports. It
// reads all sessions.
func (c *Client) CollectBlobs(ctx context.Context, q api.GCRequest) (report.GC, error) {
	return send[report.GC](ctx, c, http.MethodPost, "/v1/blobs/gc", nil, q)
}
