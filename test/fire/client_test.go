package fire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// clientOf returns a client of n that uses a new connection for each request, so that no
// request is retried automatically.
func clientOf(n *harness.Node) *client.Client {
	c := n.Client()
	c.HTTP = &http.Client{Transport: asked{&http.Transport{
		DisableKeepAlives: true,
		DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
	}}}
	return c
}

// asked requests strict reads if the test does.
type asked struct{ to http.RoundTripper }

func (a asked) RoundTrip(r *http.Request) (*http.Response, error) {
	if *strict && r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/sessions/") {
		r = r.Clone(r.Context())
		q := r.URL.Query()
		q.Set("strict", "true")
		r.URL.RawQuery = q.Encode()
	}
	return a.to.RoundTrip(r)
}

// resultOf maps an error of the client to a result.
func resultOf(err error) string {
	switch {
	case err == nil:
		return done
	case errors.Is(err, core.ErrUncertain):
		return unknown
	case errors.Is(err, core.ErrFenced):
		return fenced
	case errors.Is(err, core.ErrConflict):
		return conflict
	case errors.Is(err, core.ErrUnavailable):
		return refused
	case errors.Is(err, core.ErrNotFound):
		return absent
	}
	return broken
}

// entryLine returns a message with this id and text. Its parent is the head's leaf.
func entryLine(id, words string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,%s`, id, strings.TrimPrefix(harness.Message("user", words), "{"))
}

// An entry is the checked part of a line.
type entry struct {
	ID     string `json:"id"`
	Parent string `json:"parentId"` // null is ""
}

// entriesOf parses the lines of entries. A file's header is not one.
func entriesOf(lines []byte) ([]entry, error) {
	var es []entry
	for line := range bytes.Lines(lines) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%w in %.100q", err, line)
		}
		es = append(es, e)
	}
	return es, nil
}

// linesOf returns es in the form of state.lines.
func linesOf(es []entry) string {
	var b strings.Builder
	for _, e := range es {
		b.WriteString(e.ID + "<" + e.Parent + " ")
	}
	return b.String()
}

// readEntries reads all entry lines of a session.
func readEntries(ctx context.Context, c *client.Client, id string) ([]entry, error) {
	body, err := c.Entries(ctx, id, false, client.View{})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, core.ErrUnavailable)
	}
	return entriesOf(b)
}

// viewOf returns the view that info shows, and the cursor for an append that expects it.
func viewOf(info api.Info) (view, core.Cursor) {
	v := view{Count: info.EntryCount, Epoch: info.Log.Epoch}
	for i, name := range heads {
		h := info.Log.Heads[name]
		if h == nil {
			v.Leaf[i] = v.Leaf[0]
			continue
		}
		v.Leaf[i], _ = h.Leaf.ID()
		v.Made = v.Made || i == 1
		if h.Claim != nil {
			v.Holder[i] = h.Claim.Writer
		}
	}
	return v, info.Log.Cursor
}
