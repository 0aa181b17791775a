package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/upload"
)

const (
	// partSize is how much the client sends at a time.
	partSize = 4 << 20
	// mostFailures is how often in a row the client tries in vain, waiting longer
	// each time, up to longestPause: about two minutes in all.
	mostFailures = 40
	longestPause = 3 * time.Second
	// mostStarts is how often it begins an upload: behind something that sends
	// each request to another node none would ever be whole.
	mostStarts = 4
	// patience is how long the node that has the upload takes no connection before
	// it is begun anew on another: a node that is only started anew is back by
	// then, with what it had.
	patience = 6 * time.Second
)

// ErrNoParts says that a node takes no upload in parts, or has no room for one
// now. Whoever gets it sends the whole at once.
var ErrNoParts = errors.New("the node takes no upload in parts")

// Large is what is to be sent in parts.
type Large struct {
	Bytes  io.ReaderAt
	Size   int64       // in bytes
	SHA256 core.Digest // of all of them
	// Sent is told how many more bytes the node has: also at once of those that it
	// had from an earlier try. Optional.
	Sent func(int64)
	// Moved is told when the upload has begun anew on the node at to, for the one
	// at from takes no connections or does not know it any more. Optional.
	Moved func(from, to string)
}

// ImportLarge is Import of a file that is sent in parts: where the connection
// breaks, or the node is started anew, it goes on where it was, and so does a
// later call for the same bytes within a day, from any process with the same
// token. Where the node takes no connections for some seconds and the client has
// others, it begins anew on the next. A file that the node refused is not kept
// there. ErrNoParts where the node does not do that; nothing was imported then.
func (c *Client) ImportLarge(ctx context.Context, file Large, o ImportOptions) (api.Imported, error) {
	var out api.Imported
	err := c.inParts(ctx, file, func(ctx context.Context, node *Client, path string) error {
		q, h := o.request()
		return node.do(ctx, http.MethodPost, path+"/import", q, h, nil, 0, &out)
	})
	return out, err
}

// PutLargeBlob is PutBlob of what is sent in parts, as ImportLarge does it.
func (c *Client) PutLargeBlob(ctx context.Context, b Large) error {
	return c.inParts(ctx, b, func(ctx context.Context, node *Client, path string) error {
		return node.do(ctx, http.MethodPost, path+"/blob", nil, nil, nil, 0, nil)
	})
}

// inParts sends what, has the node do something with it, and ends the upload.
func (c *Client) inParts(ctx context.Context, what Large, finish func(ctx context.Context, node *Client, path string) error) error {
	if c.dry { // the node would keep the parts
		return ErrNoParts
	}
	t := &transfer{Large: what, client: c}
	for {
		err := t.step(ctx, finish)
		if err == nil && !t.finished {
			continue
		}
		if err == nil {
			t.end(ctx)
			return nil
		}
		if err := t.mend(ctx, err); err != nil {
			if t.begun() && refusedForGood(err) {
				t.end(ctx)
			}
			return err
		}
	}
}

// refusedForGood reports whether a node has answered that sending the same again
// is of no use.
func refusedForGood(err error) bool {
	return answered(err) && !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain) && !errors.Is(err, api.ErrTooMany)
}

// A transfer is an upload as its sender sees it.
type transfer struct {
	Large
	client *Client

	node     *Client // the one that has the upload
	at       uint32  // which of the client's nodes that is
	path     string  // of the upload there; empty before it is begun
	offset   int64
	unsure   bool // whether offset is where it ends
	finished bool

	told             int64 // to Sent
	starts, failures int

	refusedSince time.Time // when the node first took no connection, of those in a row; zero where it does
	leaving      bool      // whether another is to be asked; node and path stay until one has begun it
}

// begun reports whether there is a node to go on with.
func (t *transfer) begun() bool { return t.path != "" && !t.leaving }

// step does the next thing that is to be done.
func (t *transfer) step(ctx context.Context, finish func(context.Context, *Client, string) error) error {
	switch {
	case !t.begun():
		return t.begin(ctx)
	case t.unsure:
		return t.look(ctx)
	case t.offset < t.Size:
		return t.sendPart(ctx)
	}
	err := finish(ctx, t.node, t.path)
	t.finished = err == nil
	return err
}

// mend returns nil where it is of use to go on after err, once that is so.
func (t *transfer) mend(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case !t.begun() && refusedToBegin(err):
		return fmt.Errorf("%w: %w", ErrNoParts, err)
	case t.path == "" && t.starts == 0 && (answered(err) || unsent(err)): // another try is for the caller to make
		return err
	case errors.Is(err, upload.ErrGone) && t.starts < mostStarts: // expired, or another node answered
		t.path = ""
		return nil
	case errors.Is(err, upload.ErrGone):
		return fmt.Errorf("%w: %w", ErrNoParts, err)
	case errors.Is(err, upload.ErrOffset):
	case errors.Is(err, upload.ErrDigest) && t.starts == 1: // what the node had of it may be damaged
		t.path = ""
		return nil
	case !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrUncertain):
		return err
	}
	t.unsure = true
	if t.leaving { // the failure that led here is counted
		t.stay()
		return t.pause(ctx)
	}
	if t.failures++; t.failures > mostFailures {
		return err
	}
	if t.gone(err) {
		t.leaving = true
		return nil
	}
	return t.pause(ctx)
}

// pause waits the longer the more often the client has tried in vain.
func (t *transfer) pause(ctx context.Context) error {
	return retry.Wait(ctx, min(longestPause, 50*time.Millisecond<<min(t.failures, 10)))
}

// stay goes back to the node that has the upload, for no other has begun it. It
// may be the sender that has no network: so that node gets as much time again, and
// is asked alone when the others are back, too.
func (t *transfer) stay() {
	t.leaving, t.refusedSince = false, time.Time{}
}

// gone reports whether the node that has the upload has taken no connection for
// so long that another is to be asked.
func (t *transfer) gone(err error) bool {
	if !unsent(err) {
		t.refusedSince = time.Time{}
		return false
	}
	if t.refusedSince.IsZero() {
		t.refusedSince = time.Now()
	}
	return time.Since(t.refusedSince) >= patience && t.path != "" && t.client.nodes != nil && t.starts < mostStarts
}

// refusedToBegin reports whether a node said that it takes no upload in parts.
func refusedToBegin(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]string{"no-uploads", "no-room", "not-found", "method-not-allowed", "tus-version"}, e.Detail.Code)
}

func answered(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

func (t *transfer) begin(ctx context.Context) error {
	h := t.header()
	h.Set(api.HeaderUploadLength, strconv.FormatInt(t.Size, 10))
	h.Set(api.HeaderUploadMetadata, announcing(t.SHA256))
	before := t.node
	r, err := t.pinned(ctx, http.MethodPost, "/v1/uploads", h)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	at, err := url.Parse(r.Header.Get("Location"))
	if err != nil || at.Path == "" {
		return fmt.Errorf("the node began an upload and did not say where: %w", core.ErrInvalid)
	}
	t.path, t.offset, t.leaving = at.Path, 0, false
	t.starts++
	if before != nil && before.Base != t.node.Base && t.Moved != nil {
		t.Moved(before.Base, t.node.Base)
	}
	return t.stands(r)
}

func (t *transfer) look(ctx context.Context) error {
	r, err := t.node.send(ctx, http.MethodHead, t.path, nil, t.header(), nil, 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return t.stands(r)
}

func (t *transfer) sendPart(ctx context.Context) error {
	n := min(partSize, t.Size-t.offset)
	h := t.header()
	h.Set("Content-Type", api.PartType)
	h.Set(api.HeaderUploadOffset, strconv.FormatInt(t.offset, 10))
	r, err := t.node.send(ctx, http.MethodPatch, t.path, nil, h, io.NewSectionReader(t.Bytes, t.offset, n), n)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return t.stands(r)
}

func (t *transfer) header() http.Header { return http.Header{api.HeaderTus: {api.TusVersion}} }

// stands takes in where the node says that the upload ends.
func (t *transfer) stands(r *http.Response) error {
	t.refusedSince = time.Time{}
	at, err := strconv.ParseInt(r.Header.Get(api.HeaderUploadOffset), 10, 64)
	if err != nil || at < 0 || at > t.Size {
		return fmt.Errorf("the node says that the upload ends at %.40q: %w", r.Header.Get(api.HeaderUploadOffset), core.ErrInvalid)
	}
	if at > t.offset {
		t.failures = 0
	}
	t.offset, t.unsure = at, false
	if at > t.told && t.Sent != nil {
		t.Sent(at - t.told)
	}
	t.told = max(t.told, at)
	return nil
}

// end has the node forget the upload. Where that fails, it expires.
func (t *transfer) end(ctx context.Context) {
	_ = t.node.do(ctx, http.MethodDelete, t.path, nil, t.header(), nil, 0, nil)
}

// pinned sends a request without a body that may be repeated, and keeps to the
// node that answered it. Where none does, the client asks the same one first as
// before.
func (t *transfer) pinned(ctx context.Context, method, path string, h http.Header) (*http.Response, error) {
	c := t.client
	if c.nodes == nil {
		t.node = c
		return c.send(ctx, method, path, nil, h, nil, 0)
	}
	was := c.nodes.at.Load()
	from := was
	if t.leaving {
		was, from = t.at, t.at+1
	}
	last := from + uint32(len(c.nodes.urls)) - 1
	for at := from; ; at++ {
		one := *c
		one.Base, one.nodes = c.nodes.urls[int(at)%len(c.nodes.urls)], nil
		r, err := one.send(ctx, method, path, nil, h, nil, 0)
		inVain := errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrUncertain)
		if inVain && at != last {
			continue
		}
		if !inVain {
			c.nodes.turn(was, at)
		}
		if err == nil {
			t.node, t.at = &one, at
		}
		return r, err
	}
}

// LargeBytes is b, to be sent in parts.
func LargeBytes(b []byte) Large {
	return Large{Bytes: bytes.NewReader(b), Size: int64(len(b)), SHA256: core.DigestOf(b)}
}

// announcing is the metadata that announced reads.
func announcing(d core.Digest) string {
	return "sha256 " + base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(d[:])))
}
