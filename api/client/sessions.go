package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/session"
)

// Create creates an empty session.
func (c *Client) Create(ctx context.Context, r api.Create) (api.Created, error) {
	made, err := send[api.Created](ctx, c, http.MethodPost, "/v1/sessions", keyHeader(r.Key), r)
	return made, noted(ctx, made.ID, err)
}

// ImportOptions are the options of an import.
type ImportOptions struct {
	Dialect string // default: found out from the file
	Writer  string // the claim to speak from
	By      string
	// Parent is the session in the log that a new one comes from, and Kind the
	// relation, if more is known than the file's header says. The parent need not
	// exist yet.
	Parent string
	Kind   string
	// OnConflict is Fail, the default, or Branch: what to do if the session diverged
	// from the file. Branch is the name of the new head; default a name derived from
	// the lines.
	OnConflict session.OnConflict
	Branch     string
	// After is a cursor: the import fails if the session moved since, unless the log
	// has all lines already. "0" means that the session must not exist. With Head it
	// applies to that head alone.
	After string
	Head  string
}

// Import imports a session file. size is its length, or -1 if unknown.
func (c *Client) Import(ctx context.Context, file io.Reader, size int64, o ImportOptions) (api.Imported, error) {
	q, h := o.request()
	h.Set("Content-Type", "application/x-ndjson")
	var out api.Imported
	err := c.do(ctx, http.MethodPost, "/v1/import", q, h, file, size, &out)
	return out, err
}

// request returns the query and headers of o.
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

// Info summarizes a session.
func (c *Client) Info(ctx context.Context, id string) (api.Info, error) {
	return get[api.Info](ctx, c, c.session(id, ""), nil)
}

// Tree returns the session's entries in display order.
func (c *Client) Tree(ctx context.Context, id string) ([]display.TreeNode, error) {
	return get[[]display.TreeNode](ctx, c, c.session(id, "/tree"), nil)
}

// A View says how to read a session: from a leaf or a head, by default the head
// main, and by which profile.
type View struct {
	Leaf string // an entry's id, or "null" for before all entries
	Head string
	// Profile has the rules for a context, such as "omp"; by default those of the
	// session's own agent.
	Profile string
	// Custom limits entries to those that an extension added under this name.
	Custom string
}

func (v View) query() url.Values {
	q := url.Values{}
	setIf(q, "leaf", v.Leaf)
	setIf(q, "head", v.Head)
	setIf(q, "profile", v.Profile)
	setIf(q, "custom", v.Custom)
	return q
}

// Context returns the context that the session's agent would build, or that of
// v.Profile.
func (c *Client) Context(ctx context.Context, id string, v View) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, c.session(id, "/context"), v.query())
}

// OpenContext is Context for a caller that reads only a part of it. The caller closes
// the reader.
func (c *Client) OpenContext(ctx context.Context, id string, v View) (io.ReadCloser, error) {
	r, err := c.fetch(ctx, c.session(id, "/context"), v.query())
	if err != nil {
		return nil, err
	}
	return r.Body, nil
}

// Usage returns what the session used and cost: in all, by model, on the path to
// each head, and by sub-agent. If v names a leaf or a head, it is the path there
// alone. The node estimates costs that the agent did not write.
func (c *Client) Usage(ctx context.Context, id string, v View) (api.SessionUsage, error) {
	return get[api.SessionUsage](ctx, c, c.session(id, "/usage"), v.query())
}

// Entries returns the session's entry lines: all of them, or with path only those
// from the root to v. The caller closes the reader.
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

// A Window says which entries were read.
type Window struct {
	From   int         // number of the first; the first of all is 0
	Total  int         // how many entries there are
	Cursor core.Cursor // of the session at that time
}

// pathQuery asks for the entries of the path to v. A share link shows nothing else.
func pathQuery(id string, v View) url.Values {
	q := v.query()
	if id != "" {
		q.Set("path", "true")
	}
	return q
}

// ReadWindow calls f with up to limit entry lines of the path to v, from number from
// on; a negative from counts from the end. Large images are references, such as
// blob:sha256:.... If id is empty, the entries are those of the client's share link.
func (c *Client) ReadWindow(ctx context.Context, id string, v View, from, limit int, f func(line []byte) error) (Window, error) {
	q := pathQuery(id, v)
	q.Set("images", "false")
	q.Set("from", strconv.Itoa(from))
	q.Set("limit", strconv.Itoa(limit))
	r, err := c.fetch(ctx, c.session(id, "/entries"), q)
	if err != nil {
		return Window{}, err
	}
	defer r.Body.Close()
	var w Window
	which, total, _ := strings.Cut(r.Header.Get(api.HeaderRange), "/")
	first, _, _ := strings.Cut(which, "-")
	w.Total, _ = strconv.Atoi(total) // 0 if the node does not say
	if w.From, err = strconv.Atoi(first); err != nil {
		w.From = w.Total // an empty window
	}
	if w.Cursor, err = core.ParseCursor(r.Header.Get(api.HeaderCursor)); err != nil {
		return w, err
	}
	return w, eachLine(r.Body, f)
}

// Diff compares the path to v with the path to w of another session, or of the same one
// if with is empty. It returns at most limit entries of each.
func (c *Client) Diff(ctx context.Context, id string, v View, with string, w View, limit int) (api.Diff, error) {
	q := v.query()
	setIf(q, "with", with)
	setIf(q, "withHead", w.Head)
	setIf(q, "withLeaf", w.Leaf)
	q.Set("limit", strconv.Itoa(limit))
	return get[api.Diff](ctx, c, c.session(id, "/diff"), q)
}

// Edits returns what the agent's tools change in files, on the path to v.
func (c *Client) Edits(ctx context.Context, id string, v View) (api.Edits, error) {
	return get[api.Edits](ctx, c, c.session(id, "/edits"), v.query())
}

// EachEntry calls f with each entry line of a session, in the order in which they were
// stored. Large images are references.
func (c *Client) EachEntry(ctx context.Context, id string, f func(line []byte) error) error {
	r, err := c.fetch(ctx, c.session(id, "/entries"), url.Values{"images": {"false"}})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return eachLine(r.Body, f)
}

// eachLine calls f with each line of an answer.
func eachLine(body io.Reader, f func(line []byte) error) error {
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the response ended early: %w: %w", err, core.ErrUnavailable)
		}
		if err := f(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
	}
}

// EntryLine returns the line of an entry, with its images. If id is empty, it is one of
// the client's share link.
func (c *Client) EntryLine(ctx context.Context, id, entry string) ([]byte, error) {
	q := pathQuery(id, View{Leaf: entry})
	q.Set("from", "-1")
	q.Set("limit", "1")
	lines, err := c.readLines(ctx, c.session(id, "/entries"), q)
	if err != nil {
		return nil, err
	}
	if len(lines) != 1 {
		return nil, fmt.Errorf("session %s has no entry %.64q: %w", id, entry, core.ErrNotFound)
	}
	return lines[0], nil
}

func keyHeader(key string) http.Header {
	h := http.Header{}
	headIf(h, api.HeaderIdempotency, key)
	return h
}

// Checkpoint makes the node write a snapshot now.
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

// Digest returns the digest of a session's header and first entries.
func (c *Client) Digest(ctx context.Context, id string, entries int) (api.Digested, error) {
	return get[api.Digested](ctx, c, c.session(id, "/digest"), url.Values{"entries": {strconv.Itoa(entries)}})
}

// CreateWhole creates a session from its header's line and its entries' lines in
// one record. With a key, retrying the same request is safe.
func (c *Client) CreateWhole(ctx context.Context, n session.New) (api.Created, error) {
	q := url.Values{}
	setIf(q, "dialect", n.Dialect)
	setIf(q, "by", n.By)
	h := http.Header{"Content-Type": {"application/x-ndjson"}}
	headIf(h, api.HeaderIdempotency, n.Key)
	var out api.Created
	body := joined(append([][]byte{n.Header}, n.Lines...))
	err := c.do(ctx, http.MethodPost, "/v1/sessions", q, h, body, int64(body.Len()), &out)
	return out, noted(ctx, out.ID, err)
}

// Children returns the lines of the children of an entry, oldest first, or of the
// roots if of is empty.
func (c *Client) Children(ctx context.Context, id, of string) ([][]byte, error) {
	q := url.Values{}
	setIf(q, "of", of)
	return c.readLines(ctx, c.session(id, "/children"), q)
}

// InfoBy is Info by the rules of a profile, such as "pi@0.73"; empty for the
// session's own.
func (c *Client) InfoBy(ctx context.Context, id, profile string) (api.Info, error) {
	return get[api.Info](ctx, c, c.session(id, ""), byProfile(profile))
}

// TreeBy is Tree by the rules of a profile; empty for the session's own.
func (c *Client) TreeBy(ctx context.Context, id, profile string) ([]display.TreeNode, error) {
	return get[[]display.TreeNode](ctx, c, c.session(id, "/tree"), byProfile(profile))
}

func byProfile(profile string) url.Values {
	q := url.Values{}
	setIf(q, "profile", profile)
	return q
}
