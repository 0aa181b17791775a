package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/core/snapshot"
)

// Ends returns the last record of each session of a shard. Every record of the
// shard that was acknowledged before the call is at or before such an end.
func (c *Client) Ends(ctx context.Context, shard int) (api.ShardEnds, error) {
	return get[api.ShardEnds](ctx, c, "/v1/ends/"+strconv.Itoa(shard), nil)
}

// RecordsFrom says where a session's records begin: after After if the session is
// read from it, else at the session's base. With Start they begin at the first
// record that the log has.
type RecordsFrom struct {
	After core.Cursor
	Start bool
}

// Records are a stream of a session's records. The caller closes it.
type Records struct {
	api.RecordsHead
	*recordio.Reader
	io.Closer
}

// Records returns a session's records. Reading ends with io.EOF if they are
// complete, and with core.ErrUnavailable if the stream broke.
func (c *Client) Records(ctx context.Context, id string, from RecordsFrom) (*Records, error) {
	q := url.Values{}
	if from.After != (core.Cursor{}) {
		q.Set("after", from.After.String())
	}
	if from.Start {
		q.Set("from", "start")
	}
	res, err := c.fetch(ctx, c.session(id, "/records"), q)
	if err != nil {
		return nil, err
	}
	rs := &Records{Reader: recordio.NewReader(arriving{res.Body}), Closer: res.Body}
	line, err := rs.Line()
	if err == nil {
		err = json.Unmarshal(line, &rs.RecordsHead)
	}
	if err != nil {
		_ = res.Body.Close()
		return nil, fmt.Errorf("records of session %s: %w", id, err)
	}
	return rs, nil
}

// arriving is the body of an answer. If it breaks off, the error is
// core.ErrUnavailable: nothing is corrupt.
type arriving struct{ io.Reader }

func (a arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the response ended early: %v: %w", err, core.ErrUnavailable)
	}
	return n, err
}

// SnapshotObject returns the object that m names as the node stores it: packed
// and not verified. A snapshot in several parts is returned as one object. It
// returns core.ErrNotFound if parts of an older snapshot are no longer kept.
func (c *Client) SnapshotObject(ctx context.Context, m *core.Manifest) ([]byte, error) {
	packed, err := c.bytes(ctx, snapshotPath(c, m, m.Object))
	if len(m.Parts) == 0 || !errors.Is(err, core.ErrNotFound) {
		return packed, err
	}
	return snapshot.PackFrom(ctx, m, func(ctx context.Context, key string) ([]byte, error) {
		return c.bytes(ctx, snapshotPath(c, m, key))
	})
}

func (c *Client) bytes(ctx context.Context, path string) ([]byte, error) {
	res, err := c.fetch(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(arriving{res.Body})
}

func snapshotPath(c *Client, m *core.Manifest, key string) string {
	return c.session(string(m.Session), "/snapshots/"+url.PathEscape(path.Base(key)))
}

// PlanRestore says what a restore of a session would find. It changes nothing.
func (c *Client) PlanRestore(ctx context.Context, id string, p api.RestorePlan) (api.Planned, error) {
	return send[api.Planned](ctx, c, http.MethodPost, c.session(id, "/restore/plan"), nil, p)
}

// WantedBlobs returns those of blobs that the node lacks or has damaged.
func (c *Client) WantedBlobs(ctx context.Context, blobs []api.BlobWant) ([]api.BlobWant, error) {
	var wanted []api.BlobWant
	for len(blobs) > 0 {
		n := min(len(blobs), api.MaxWants)
		page, err := send[api.BlobWants](ctx, c, http.MethodPost, "/v1/restore/blobs", nil, api.BlobWants{Blobs: blobs[:n]})
		if err != nil {
			return nil, err
		}
		wanted, blobs = append(wanted, page.Blobs...), blobs[n:]
	}
	return wanted, nil
}

// RestoreBlob stores b under its digest and replaces damaged bytes.
func (c *Client) RestoreBlob(ctx context.Context, b []byte) error {
	return c.do(ctx, http.MethodPut, "/v1/restore/blobs/"+core.DigestOf(b).String(), nil, nil, bytes.NewReader(b), int64(len(b)), nil)
}

// RestoreSnapshot stores the object of the snapshot that m names.
func (c *Client) RestoreSnapshot(ctx context.Context, m *core.Manifest, packed []byte) error {
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	head = append(head, '\n')
	body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(packed))
	return c.do(ctx, http.MethodPut, snapshotPath(c, m, m.Object), nil, nil, body, int64(len(head)+len(packed)), nil)
}

// Restore stores the records that the log lacks of a session, in the format of
// package recordio. The node must have their blobs and snapshot. It may be
// repeated.
func (c *Client) Restore(ctx context.Context, id string, h api.RestoreHead, records []byte) (api.Restored, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return api.Restored{}, err
	}
	head = append(head, '\n')
	var out api.Restored
	body := io.MultiReader(bytes.NewReader(head), bytes.NewReader(records))
	err = c.do(ctx, http.MethodPost, c.session(id, "/restore"), nil, nil, body, int64(len(head)+len(records)), &out)
	return out, err
}
