package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	// partSize is how much content a part has.
	partSize = 1 << 20
	// mostFailures is how many requests in a row may fail; with pauses up to
	// longestPause that is about two minutes.
	mostFailures = 40
	longestPause = 3 * time.Second
	// mostRounds is how often missing parts are sent before the client sends the
	// whole content in one request.
	mostRounds = 8
)

// Large is content to be sent in parts. A repeated request, by any process,
// sends only the parts that the log does not have. Parts that no session uses
// are removed after the grace period of blobs.
type Large struct {
	Bytes io.ReaderAt
	Size  int64 // in bytes
	// Sent is called with the number of bytes that the node has in addition,
	// including those that it had before. Optional.
	Sent func(int64)
}

// LargeBytes returns b as content to be sent in parts.
func LargeBytes(b []byte) Large { return Large{Bytes: bytes.NewReader(b), Size: int64(len(b))} }

// ImportLarge is Import of a file that is sent in parts. If a connection breaks
// or a node ends, it retries for about two minutes with all nodes of the client.
func (c *Client) ImportLarge(ctx context.Context, file Large, o ImportOptions) (api.Imported, error) {
	var out api.Imported
	q, h := o.request()
	h.Set("Content-Type", api.PartsType)
	err := c.sendParts(ctx, file, func(list []byte) error {
		return c.do(ctx, http.MethodPost, "/v1/import", q, h, bytes.NewReader(list), int64(len(list)), &out)
	})
	if errors.Is(err, errSendWhole) {
		return c.Import(ctx, io.NewSectionReader(file.Bytes, 0, file.Size), file.Size, o)
	}
	return out, err
}

// PutLargeBlob is PutBlob of the bytes b, sent in parts as ImportLarge does.
func (c *Client) PutLargeBlob(ctx context.Context, b []byte) error {
	path := "/v1/blobs/" + core.DigestOf(b).String()
	err := c.sendParts(ctx, LargeBytes(b), func(list []byte) error {
		return c.do(ctx, http.MethodPut, path, nil, http.Header{"Content-Type": {api.PartsType}}, bytes.NewReader(list), int64(len(list)), nil)
	})
	if errors.Is(err, errSendWhole) {
		return c.PutBlob(ctx, b)
	}
	return err
}

// errSendWhole says that content has to be sent in one request.
var errSendWhole = errors.New("parts cannot be used")

// sendParts calls finish with the list of parts, and sends the parts that are
// missing, until finish succeeds. It returns errSendWhole for a dry run, which
// stores no parts, and if parts stay missing.
func (c *Client) sendParts(ctx context.Context, content Large, finish func(list []byte) error) error {
	if c.dry || content.Size > api.MaxParts*partSize {
		return errSendWhole
	}
	t := &transfer{client: c, Large: content}
	list, err := t.list()
	if err != nil {
		return err
	}
	for range mostRounds {
		err := t.retry(ctx, func() error { return finish(list) })
		if !errors.Is(err, api.ErrMissingParts) {
			if err == nil {
				t.report(nil)
			}
			return err
		}
		t.answered = true
		if err := t.sendMissing(ctx, err); err != nil {
			return err
		}
	}
	return errSendWhole
}

// A transfer is content on its way to a node.
type transfer struct {
	Large
	client   *Client
	parts    []core.Digest
	reported []bool // to Sent, by part
	answered bool   // by a node
}

// list returns the body that lists the parts.
func (t *transfer) list() ([]byte, error) {
	buf := make([]byte, len(api.PartMark)+partSize)
	for at := 0; int64(at)*partSize < t.Size; at++ {
		part, err := t.read(at, buf)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, core.DigestOf(part))
	}
	t.reported = make([]bool, len(t.parts))
	return json.Marshal(api.Parts{Parts: t.parts})
}

// size returns how much content a part has.
func (t *transfer) size(at int) int64 { return min(partSize, t.Size-int64(at)*partSize) }

// read reads a part into buf.
func (t *transfer) read(at int, buf []byte) ([]byte, error) {
	n := copy(buf, api.PartMark)
	part := buf[:int64(n)+t.size(at)]
	if got, err := t.Bytes.ReadAt(part[n:], int64(at)*partSize); got < len(part)-n {
		if err == io.EOF {
			err = fmt.Errorf("the content became shorter while it was sent: %w", core.ErrConflict)
		}
		return nil, err
	}
	return part, nil
}

// sendMissing stores the parts that a node's answer names as missing.
func (t *transfer) sendMissing(ctx context.Context, answer error) error {
	e, ok := errors.AsType[*Error](answer)
	if !ok {
		return answer
	}
	missing := make(map[core.Digest]bool, len(e.Detail.Missing))
	for _, d := range e.Detail.Missing {
		missing[d] = true
	}
	t.report(missing)
	buf := make([]byte, len(api.PartMark)+partSize)
	for at, d := range t.parts {
		if !missing[d] {
			continue
		}
		part, err := t.read(at, buf)
		if err != nil {
			return err
		}
		if core.DigestOf(part) != d {
			return fmt.Errorf("the content changed while it was sent: %w", core.ErrConflict)
		}
		if err := t.retry(ctx, func() error { return t.client.PutBlob(ctx, part) }); err != nil {
			return err
		}
		delete(missing, d)
		t.report(missing)
	}
	return nil
}

// report tells Sent of all parts but the missing ones, once each.
func (t *transfer) report(missing map[core.Digest]bool) {
	var n int64
	for at, d := range t.parts {
		if !t.reported[at] && !missing[d] {
			t.reported[at] = true
			n += t.size(at)
		}
	}
	if n > 0 && t.Sent != nil {
		t.Sent(n)
	}
}

// retry calls f again, after pauses, while a node that has answered before is
// not available. All requests of a transfer may be repeated.
func (t *transfer) retry(ctx context.Context, f func() error) error {
	for failures := 0; ; failures++ {
		err := f()
		again := errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
		if !again || !t.answered || failures == mostFailures || ctx.Err() != nil {
			return err
		}
		if retry.Wait(ctx, min(longestPause, 50*time.Millisecond<<min(failures, 10))) != nil {
			return err
		}
	}
}
