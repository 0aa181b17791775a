package api

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/core/lineage"
)

// Lineage is an answer of GET /v1/lineage: sessions, the oldest first, and
// which came from which. A parent that is not in the log is among the sessions,
// as missing, behind the others.
type Lineage struct {
	Sessions []lineage.Node `json:"sessions"`
	Edges    []lineage.Edge `json:"edges"`
	// Problem says what is wrong with the graph, if anything is: a parent that is
	// missing, or sessions that came from each other.
	Problem string `json:"problem,omitempty"`
}

// A ParentRef names a session that another is to come from.
type ParentRef struct {
	Session string `json:"session"`
	Kind    string `json:"kind,omitempty"`  // default "create"
	Entry   string `json:"entry,omitempty"` // the entry it was left at
}

// MergeRequest asks for a new session that is this one, then another.
type MergeRequest struct {
	With     string `json:"with"`               // the other session
	Head     string `json:"head,omitempty"`     // whose path of this session is taken; default main
	WithHead string `json:"withHead,omitempty"` // and of the other
	ID       string `json:"id,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	By       string `json:"by,omitempty"`
	Key      string `json:"-"` // as in Create
}

// Merged names a session that was made of two.
type Merged struct {
	Created
	// Hidden says that the second session was compacted: its agent shows a model
	// little or nothing of the first. Merged the other way round it shows both.
	Hidden bool `json:"hidden,omitempty"`
}

// LineageOptions narrow a lineage.
type LineageOptions struct {
	Session   string // the one to look from; default all
	Direction string // "ancestors", "descendants" or "both", the default
}

func (o LineageOptions) query() url.Values {
	q := url.Values{}
	setIf(q, "session", o.Session)
	setIf(q, "direction", o.Direction)
	return q
}

// Lineage returns sessions and which came from which.
func (c *Client) Lineage(ctx context.Context, o LineageOptions) (Lineage, error) {
	return get[Lineage](ctx, c, "/v1/lineage", o.query())
}

// LineageJSONL returns the same, as OpenRath exports it: one line for each
// session in the log. The caller closes the reader.
func (c *Client) LineageJSONL(ctx context.Context, o LineageOptions) (io.ReadCloser, error) {
	q := o.query()
	q.Set("format", "jsonl")
	r, err := c.fetch(ctx, "/v1/lineage", q)
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// Merge makes a new session of this one and another.
func (c *Client) Merge(ctx context.Context, id string, r MergeRequest) (Merged, error) {
	return send[Merged](ctx, c, http.MethodPost, c.session(id, "/merge"), keyHeader(r.Key), r)
}
