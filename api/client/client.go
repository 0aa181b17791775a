package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session"
)

// A Client speaks to a node, or to one of several, see ClientOf. The zero HTTP client is http.DefaultClient; Base
// is the node's URL, such as http://127.0.0.1:7433. Its methods may be called
// from several goroutines. Their errors are *Error where the node answered, and
// core.ErrUnavailable or core.ErrUncertain where it did not.
type Client struct {
	Base  string
	Token string
	HTTP  *http.Client

	demand api.Demand // of reads
	dry    bool       // see DryRun
	nodes  *nodes     // to ask in turn; nil for the one at Base
}

// Session returns the calls about one session.
func (c *Client) session(id string, rest string) string {
	return "/v1/sessions/" + url.PathEscape(id) + rest
}

// Status returns the node at a glance.
func (c *Client) Status(ctx context.Context) (api.Status, error) {
	return get[api.Status](ctx, c, "/v1/status", nil)
}

// Create makes an empty session.
func (c *Client) Create(ctx context.Context, r api.Create) (api.Created, error) {
	return send[api.Created](ctx, c, http.MethodPost, "/v1/sessions", keyHeader(r.Key), r)
}

// ImportOptions are what may be said with a file.
type ImportOptions struct {
	Dialect string // default: found out from the file
	Writer  string // the claim to speak from
	By      string
	// Parent is the session in the log that a new one comes from, and Kind how,
	// where more is known of it than the file's header says. The parent need not
	// be there yet.
	Parent string
	Kind   string
	// OnConflict is Fail, which is the default, or Branch: what to do where the
	// session went on otherwise than the file. Branch is what the head is called
	// then; default a name made of the lines.
	OnConflict session.OnConflict
	Branch     string
	// After is a cursor: the session must be where it says still, unless the log has
	// all lines already. "0" says that the session must not be there. With Head it
	// is that head that must not have moved since, whatever else came.
	After string
	Head  string
}

// Import brings a session file into the log; size is its length, or -1 where it
// is not known.
func (c *Client) Import(ctx context.Context, file io.Reader, size int64, o ImportOptions) (api.Imported, error) {
	q, h := o.request()
	h.Set("Content-Type", "application/x-ndjson")
	var out api.Imported
	err := c.do(ctx, http.MethodPost, "/v1/import", q, h, file, size, &out)
	return out, err
}

// request is what o adds to a request.
func (o ImportOptions) request() (url.Values, http.Header) {
	q, h := url.Values{}, http.Header{}
	setIf(q, "dialect", o.Dialect)
	setIf(q, "by", o.By)
	setIf(q, "parent", o.Parent)
	setIf(q, "kind", o.Kind)
	setIf(q, "onConflict", string(o.OnConflict))
	setIf(q, "branch", o.Branch)
	headIf(h, api.HeaderWriter, o.Writer)
	headIf(h, "If-Match", o.After)
	headIf(h, api.HeaderHead, o.Head)
	return q, h
}

// Info returns a session at a glance.
func (c *Client) Info(ctx context.Context, id string) (api.Info, error) {
	return get[api.Info](ctx, c, c.session(id, ""), nil)
}

// Tree returns the session's entries in display order.
func (c *Client) Tree(ctx context.Context, id string) ([]core.TreeNode, error) {
	return get[[]core.TreeNode](ctx, c, c.session(id, "/tree"), nil)
}

// A View says how a session is read: from a leaf, or a head, by default the
// head main; and by whose rules.
type View struct {
	Leaf string // an entry's id, or "null" for before all entries
	Head string
	// Profile is whose rules a context is built by, such as "omp"; the session's
	// own agent's by default.
	Profile string
}

func (v View) query() url.Values {
	q := url.Values{}
	setIf(q, "leaf", v.Leaf)
	setIf(q, "head", v.Head)
	setIf(q, "profile", v.Profile)
	return q
}

// Context returns the object that the session's agent would build, or the one
// that v.Profile says.
func (c *Client) Context(ctx context.Context, id string, v View) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, c.session(id, "/context"), v.query())
}

// Entries returns the session's entry lines, one per line: all of them, or with
// path only those from the root to v.
func (c *Client) Entries(ctx context.Context, id string, path bool, v View) (io.ReadCloser, error) {
	q := v.query()
	if path {
		q.Set("path", "true")
	}
	r, err := c.fetch(ctx, c.session(id, "/entries"), q)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// Export returns the session as its agent's file, byte for byte; with original,
// the file that was imported as it was. The caller closes the reader.
func (c *Client) Export(ctx context.Context, id string, original bool) (io.ReadCloser, error) {
	q := url.Values{}
	if original {
		q.Set("original", "true")
	}
	r, err := c.fetch(ctx, c.session(id, "/export"), q)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// A Place is where an agent looks for a session's file.
type Place struct {
	Dialect string // whose file it is; empty where an older node gave it
	Dir     string // below the agent's root of sessions
	Name    string
	Cursor  core.Cursor
}

// File returns the session as its agent has to find it to go on where head
// stands: the leaf's line is the last. The caller closes the reader.
func (c *Client) File(ctx context.Context, id, head string) (io.ReadCloser, Place, error) {
	r, err := c.fetch(ctx, c.session(id, "/file"), View{Head: head}.query())
	if err != nil {
		return nil, Place{}, err
	}
	p := Place{Dialect: r.Header.Get(api.HeaderDialect), Dir: r.Header.Get(api.HeaderDir), Name: r.Header.Get(api.HeaderFile)}
	p.Cursor, err = core.ParseCursor(r.Header.Get(api.HeaderCursor))
	if err != nil {
		_ = r.Body.Close()
		return nil, Place{}, err
	}
	return r.Body, p, nil
}

// AppendOptions are what may be said with lines.
type AppendOptions struct {
	Head   string
	Writer string // the claim to speak from
	After  string // a cursor: the head must not have moved since
	Key    string // Idempotency-Key: makes the ids of lines that have none
	// OnConflict says what to do where another writer came first, and Branch what
	// the head is called that session.Branch makes; default a name made for it.
	OnConflict session.OnConflict
	Branch     string
}

func (o AppendOptions) query() url.Values {
	q := url.Values{}
	setIf(q, "onConflict", string(o.OnConflict))
	setIf(q, "branch", o.Branch)
	return q
}

// Append stores entry lines, joined by newlines, and returns when they are
// durable. A request without an answer is sent again while ctx lasts; without
// a Key that is done only where every line has its id. Where another writer came
// first the error is also a *core.FencedError or a *core.ConflictError, which has
// the lines.
func (c *Client) Append(ctx context.Context, id string, lines []byte, o AppendOptions) (api.Appended, error) {
	h := http.Header{"Content-Type": {"application/x-ndjson"}}
	headIf(h, api.HeaderHead, o.Head)
	headIf(h, api.HeaderWriter, o.Writer)
	headIf(h, api.HeaderIdempotency, o.Key)
	headIf(h, "If-Match", o.After)
	for {
		var out api.Appended
		err := c.do(ctx, http.MethodPost, c.session(id, "/entries"), o.query(), h, bytes.NewReader(lines), int64(len(lines)), &out)
		if err == nil || o.Key == "" || !unheard(err) {
			return out, refusedLines(core.SessionID(id), err, lines)
		}
		if retry.Wait(ctx, 300*time.Millisecond) != nil {
			return out, err
		}
	}
}

// refusedLines gives err, where it says that another came first, its cause and
// with that the lines that were not stored.
func refusedLines(id core.SessionID, err error, body []byte) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	if cause := typed(id, err); cause != err && e.Detail.Line == 0 {
		lines, _ := api.EntryLines(body)
		e.Cause = withLines(cause, lines)
	}
	return err
}

// unheard reports whether err leaves open what became of a request: it was not
// answered, or the node could not tell.
func unheard(err error) bool {
	if errors.Is(err, core.ErrUncertain) {
		return true
	}
	_, answered := errors.AsType[*Error](err)
	return !answered && errors.Is(err, core.ErrUnavailable)
}

// Label sets an entry's label, or clears it.
func (c *Client) Label(ctx context.Context, id string, r api.LabelRequest, o AppendOptions) (api.Appended, error) {
	return sendTo[api.Appended](ctx, c, http.MethodPost, c.session(id, "/labels"), o.query(), o.header(), r)
}

// Name names the session.
func (c *Client) Name(ctx context.Context, id string, r api.NameRequest, o AppendOptions) (api.Appended, error) {
	return sendTo[api.Appended](ctx, c, http.MethodPost, c.session(id, "/name"), o.query(), o.header(), r)
}

func (o AppendOptions) header() http.Header {
	h := http.Header{}
	headIf(h, api.HeaderHead, o.Head)
	headIf(h, api.HeaderWriter, o.Writer)
	headIf(h, api.HeaderIdempotency, o.Key)
	return h
}

// Move makes a head stand at an entry; a head that is not there is made.
func (c *Client) Move(ctx context.Context, id, head string, r api.MoveRequest, writer string) (api.Info, error) {
	h := http.Header{}
	headIf(h, api.HeaderWriter, writer)
	headIf(h, "If-Match", r.After)
	return send[api.Info](ctx, c, http.MethodPut, c.session(id, "/heads/"+url.PathEscape(head)), h, r)
}

// Claim asks for a head.
func (c *Client) Claim(ctx context.Context, id string, r api.ClaimRequest) (api.Claimed, error) {
	return send[api.Claimed](ctx, c, http.MethodPost, c.session(id, "/claims"), nil, r)
}

// Release gives up a claim.
func (c *Client) Release(ctx context.Context, id, head, writer string) error {
	return c.do(ctx, http.MethodDelete, c.session(id, "/claims/"+url.PathEscape(writer)), View{Head: head}.query(), nil, nil, 0, nil)
}

// Fork makes a new session of a path of this one.
func (c *Client) Fork(ctx context.Context, id string, r api.ForkRequest) (api.Created, error) {
	return send[api.Created](ctx, c, http.MethodPost, c.session(id, "/fork"), keyHeader(r.Key), r)
}

func keyHeader(key string) http.Header {
	h := http.Header{}
	headIf(h, api.HeaderIdempotency, key)
	return h
}

// Delete puts the session in the trash, Undelete takes it out.
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

// Checkpoint has the node write a snapshot now, and names it.
func (c *Client) Checkpoint(ctx context.Context, id string) (api.Snapshot, error) {
	return send[api.Snapshot](ctx, c, http.MethodPost, c.session(id, "/checkpoint"), nil, struct{}{})
}

// Snapshot returns the plain bytes of the latest snapshot, and its key.
func (c *Client) Snapshot(ctx context.Context, id string) (plain []byte, object string, err error) {
	r, err := c.fetch(ctx, c.session(id, "/snapshot"), nil)
	if err != nil {
		return nil, "", err
	}
	defer r.Body.Close()
	plain, err = io.ReadAll(r.Body)
	return plain, r.Header.Get(api.HeaderSnapshot), err
}

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

// PutBlob stores bytes under their digest. To store what is there already is no
// error.
func (c *Client) PutBlob(ctx context.Context, b []byte) error {
	h := http.Header{"Content-Type": {"application/octet-stream"}}
	return c.do(ctx, http.MethodPut, "/v1/blobs/"+core.DigestOf(b).String(), nil, h, bytes.NewReader(b), int64(len(b)), nil)
}
