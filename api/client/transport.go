package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// get asks for a JSON answer of type T.
func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var out T
	err := c.do(ctx, http.MethodGet, path, q, nil, nil, 0, &out)
	return out, err
}

// send sends in as JSON and reads a JSON answer of type T.
func send[T any](ctx context.Context, c *Client, method, path string, h http.Header, in any) (T, error) {
	var out T
	err := c.sendJSON(ctx, method, path, h, in, &out)
	return out, err
}

// sendTo is send with a query.
func sendTo[T any](ctx context.Context, c *Client, method, path string, q url.Values, h http.Header, in any) (T, error) {
	var out T
	err := c.sendJSONTo(ctx, method, path, q, h, in, &out)
	return out, err
}

func (c *Client) sendJSON(ctx context.Context, method, path string, h http.Header, in, out any) error {
	return c.sendJSONTo(ctx, method, path, nil, h, in, out)
}

func (c *Client) sendJSONTo(ctx context.Context, method, path string, q url.Values, h http.Header, in, out any) error {
	b, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "application/json")
	return c.do(ctx, method, path, q, h, bytes.NewReader(b), int64(len(b)), out)
}

func (c *Client) fetch(ctx context.Context, path string, q url.Values) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, path, q, nil, nil, 0)
}

// do sends a request and reads the answer into out, raw where out is a
// *json.RawMessage.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, h http.Header, body io.Reader, size int64, out any) error {
	r, err := c.send(ctx, method, path, q, h, body, size)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("%s %s: the response ended early: %w: %w", method, path, err, unanswered(method))
	}
	switch to := out.(type) {
	case nil:
		return nil
	case *json.RawMessage:
		*to = bytes.TrimSpace(b)
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s %s: the answer is not what this program expects: %w", method, path, err)
	}
	return nil
}

// sendTo sends a request to the node at base. A non-2xx answer is an error.
func (c *Client) sendTo(ctx context.Context, base, method, path string, q url.Values, h http.Header, body io.Reader, size int64) (*http.Response, error) {
	if method == http.MethodGet && c.readOptions != (api.ReadOptions{}) && strings.HasPrefix(path, "/v1/sessions/") {
		q = maps.Clone(q)
		if q == nil {
			q = url.Values{}
		}
		setReadOptions(q, c.readOptions)
	}
	dry := c.dry && method != http.MethodGet
	if dry {
		path = strings.Replace(path, api.Prefix, api.DryRunPrefix, 1)
	}
	u := strings.TrimSuffix(base, "/") + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %v: %w", base, err, core.ErrInvalid)
	}
	if body != nil {
		req.ContentLength = size
	}
	maps.Copy(req.Header, h)
	preferWait(ctx, req.Header)
	if !lineage.IsRecording(ctx) {
		req.Header.Set(api.HeaderLineage, "off")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	r, err := client.Do(req)
	if err != nil {
		if unsent(err) {
			method = http.MethodGet
		}
		return nil, fmt.Errorf("no answer from %s: %w: %w", base, err, unanswered(method))
	}
	if dry {
		err = dryAnswer(base, r)
	}
	if err != nil {
		_ = r.Body.Close()
		return nil, err
	}
	if r.StatusCode >= 300 {
		defer r.Body.Close()
		return nil, readProblem(r)
	}
	return r, nil
}

// unanswered returns the error of a request without an answer: a read did
// nothing, the outcome of a write is unknown.
func unanswered(method string) error {
	if method == http.MethodGet {
		return core.ErrUnavailable
	}
	return core.ErrUncertain
}

// unsent reports whether err came before anything of a request was sent.
func unsent(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial"
}

func setIf(q url.Values, k, v string) {
	if v != "" {
		q.Set(k, v)
	}
}

func headIf(h http.Header, k, v string) {
	if v != "" {
		h.Set(k, v)
	}
}

// setReadOptions adds d to the query.
func setReadOptions(q url.Values, d api.ReadOptions) {
	if d.Seen != (core.Cursor{}) {
		q.Set("seen", d.Seen.String())
	}
	if d.Strict {
		q.Set("strict", "true")
	}
	setIf(q, "at", d.At)
}

// dryAnswer returns an error if r, the answer of the node at base, is not that of
// a dry run.
func dryAnswer(base string, r *http.Response) error {
	if r.Header.Get(api.HeaderDryRun) == "true" {
		return nil
	}
	switch {
	case r.StatusCode < 300:
		return fmt.Errorf("the node at %s answers a dry run with %s, and does not say that it was one: see what was done: %w", base, r.Status, core.ErrInvalid)
	case r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("the node at %s is too old for dry runs and did nothing; upgrade it: %w", base, core.ErrInvalid)
	}
	return nil // it says itself why not
}

// preferWait tells the node how long the caller of ctx waits.
func preferWait(ctx context.Context, h http.Header) {
	end, ok := ctx.Deadline()
	if !ok {
		return
	}
	if left := int(time.Until(end) / time.Second); left > 0 {
		h.Set(api.HeaderPrefer, "wait="+strconv.Itoa(left))
	}
}
