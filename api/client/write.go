package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
	"github.com/sesslog/sesslog/session"
)

// AppendOptions are the options of an append, which are headers and parameters of its
// request. After is text because it comes from users and goes into a header.
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
// durable. With a Key it retries a request without an answer while ctx lasts. If
// another writer was first, the error is also a *core.FencedError or a
// *core.ConflictError with the lines.
func (c *Client) Append(ctx context.Context, id string, lines []byte, o AppendOptions) (core.Receipt, error) {
	h := http.Header{"Content-Type": {"application/x-ndjson"}}
	headIf(h, api.HeaderHead, o.Head)
	headIf(h, api.HeaderWriter, o.Writer)
	headIf(h, api.HeaderIdempotency, o.Key)
	headIf(h, "If-Match", o.After)
	for {
		var out core.Receipt
		err := c.do(ctx, http.MethodPost, c.session(id, "/entries"), o.query(), h, bytes.NewReader(lines), int64(len(lines)), &out)
		if err == nil || o.Key == "" || !unheard(err) {
			return out, refusedLines(core.SessionID(id), err, lines)
		}
		if retry.Wait(ctx, 300*time.Millisecond) != nil {
			return out, err
		}
	}
}

// refusedLines adds to an error that names another writer its cause and the lines
// that were not stored.
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

// unheard reports whether err leaves the outcome of a request unknown.
func unheard(err error) bool {
	if errors.Is(err, core.ErrUncertain) {
		return true
	}
	_, answered := errors.AsType[*Error](err)
	return !answered && errors.Is(err, core.ErrUnavailable)
}

// Label sets an entry's label, or clears it.
func (c *Client) Label(ctx context.Context, id string, r api.LabelRequest, o AppendOptions) (core.Receipt, error) {
	return sendTo[core.Receipt](ctx, c, http.MethodPost, c.session(id, "/labels"), o.query(), o.header(), r)
}

// Name names the session.
func (c *Client) Name(ctx context.Context, id string, r api.NameRequest, o AppendOptions) (core.Receipt, error) {
	return sendTo[core.Receipt](ctx, c, http.MethodPost, c.session(id, "/name"), o.query(), o.header(), r)
}

func (o AppendOptions) header() http.Header {
	h := http.Header{}
	headIf(h, api.HeaderHead, o.Head)
	headIf(h, api.HeaderWriter, o.Writer)
	headIf(h, api.HeaderIdempotency, o.Key)
	return h
}

// Amend replaces the line of an entry; id, parent and type stay. With o.After it
// fails with a *core.ConflictError if the session changed since, unless the line
// is already stored. Without o.After a delayed request may undo a later
// amendment.
func (c *Client) Amend(ctx context.Context, id, entry string, line []byte, o AppendOptions) (api.Amended, error) {
	return c.amend(ctx, c.session(id, "/entries/"+url.PathEscape(entry)), [][]byte{line}, o)
}

// AmendAll is Amend for the lines of several entries: all are stored, or none.
func (c *Client) AmendAll(ctx context.Context, id string, lines [][]byte, o AppendOptions) (api.Amended, error) {
	return c.amend(ctx, c.session(id, "/entries"), lines, o)
}

func (c *Client) amend(ctx context.Context, path string, lines [][]byte, o AppendOptions) (out api.Amended, err error) {
	h := o.header()
	headIf(h, "If-Match", o.After)
	h.Set("Content-Type", "application/x-ndjson")
	body := joined(lines)
	err = c.do(ctx, http.MethodPatch, path, nil, h, body, int64(body.Len()), &out)
	return out, err
}

// SetMeta replaces a message's metadata of the channel that it came through.
func (c *Client) SetMeta(ctx context.Context, id, entry string, meta json.RawMessage, o AppendOptions) (api.Amended, error) {
	return send[api.Amended](ctx, c, http.MethodPut, c.session(id, "/entries/"+url.PathEscape(entry)+"/meta"), o.header(), meta)
}

// React adds a reaction to a message that came through a channel.
func (c *Client) React(ctx context.Context, id string, r api.ReactionRequest, o AppendOptions) (api.Amended, error) {
	return send[api.Amended](ctx, c, http.MethodPost, c.session(id, "/reactions"), o.header(), r)
}
