package durablestreams

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// A createRequest is a checked request for a stream.
type createRequest struct {
	path        string
	contentType string // empty if the request has none
	ttl         *int64
	expires     string
	body        []byte
	close       bool
	fork        *forkRequest // nil for a stream that begins empty
}

// A forkRequest says where a new stream begins.
type forkRequest struct {
	path   string
	offset *int64 // nil for the end of the source
	sub    int64
}

func (h *Handler) create(w http.ResponseWriter, r *http.Request, path string) error {
	body, release, err := h.cfg.Body(r)
	if err != nil {
		return err
	}
	defer release()
	q, err := createRequestOf(r, path, body)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		f, err := h.find(r.Context(), path, h.cfg.Open)
		if err != nil {
			return err
		}
		if f.gone {
			return refuse(http.StatusConflict, "stream %.200q is deleted, and its path cannot be used yet", path)
		}
		if f.sess != nil {
			return h.answerCreated(w, r, q, f.sess, http.StatusOK)
		}
		sess, err := h.make(r.Context(), q, f.generation)
		if errors.Is(err, core.ErrExists) && try < maxTries { // another request made it
			continue
		}
		if err != nil {
			return err
		}
		h.appended(sess.ID(), path)
		return h.answerCreated(w, r, q, sess, http.StatusCreated)
	}
}

func createRequestOf(r *http.Request, path string, body []byte) (*createRequest, error) {
	q := &createRequest{path: path, body: body, close: wantsClosed(r)}
	var err error
	if q.contentType, err = contentTypeOf(r); err != nil {
		return nil, err
	}
	if q.ttl, q.expires, err = lifetimeOf(r); err != nil {
		return nil, err
	}
	if q.fork, err = forkOf(r); err != nil {
		return nil, err
	}
	return q, nil
}

// forkOf returns what a request says of a source, nil if it names none.
func forkOf(r *http.Request) (*forkRequest, error) {
	from := r.Header.Get(headerForkedFrom)
	offset, sub := r.Header.Values(headerForkOffset), r.Header.Values(headerForkSub)
	if from == "" {
		if len(offset)+len(sub) > 0 {
			return nil, refuse(http.StatusBadRequest, "there is no %s", headerForkedFrom)
		}
		return nil, nil
	}
	path, err := url.PathUnescape(strings.TrimPrefix(from, Prefix))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "%s %.200q is not a path", headerForkedFrom, from)
	}
	f := &forkRequest{path: path}
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if len(offset) > 0 {
		at, ok := parseOffset(offset[0])
		if !ok {
			return nil, refuse(http.StatusBadRequest, "%s %.64q is not an offset", headerForkOffset, offset[0])
		}
		f.offset = &at
	}
	if len(sub) > 0 {
		ok := false
		if f.sub, ok = parseNumber(sub[0]); !ok {
			return nil, refuse(http.StatusBadRequest, "%s %.64q is not a number", headerForkSub, sub[0])
		}
	}
	return f, nil
}

// make creates the session of a stream.
func (h *Handler) make(ctx context.Context, q *createRequest, generation int) (*engine.Session, error) {
	id := SessionID(q.path, generation)
	if err := h.cfg.MayUse(ctx, id); err != nil {
		return nil, err
	}
	c := bytestream.Config{
		ID: string(id), Time: stamp(h.now()), Path: q.path, ContentType: q.contentType, TTL: q.ttl, ExpiresAt: q.expires,
	}
	o := core.Origin{Dialect: bytestream.Dialect{}.Name(), Kind: "create"}
	var lines [][]byte
	if q.fork != nil {
		src, err := h.inherit(ctx, q, &c)
		if err != nil {
			return nil, err
		}
		o.Kind, o.Parents = "", src.parents
		lines = src.lines
	}
	if c.ContentType == "" {
		c.ContentType = defaultType
	}
	l, err := h.bodyOf(q, c.ContentType)
	if err != nil {
		return nil, err
	}
	switch {
	case l != nil:
		l.Closed = q.close
		lines = append(lines, h.stamped(*l))
	case q.close:
		lines = append(lines, h.stamped(bytestream.Line{Type: bytestream.TypeClose}))
	}
	return h.open(ctx, engine.CreateRequest{ID: id, Origin: o}, c, lines)
}

// bodyOf returns the line of a request's body in a stream of that content type, or nil if
// the request has no body.
func (h *Handler) bodyOf(q *createRequest, contentType string) (*bytestream.Line, error) {
	l, err := bodyLine(contentType, q.body)
	if err == nil {
		err = h.checkSize(l)
	}
	return l, err
}

// open creates a session with lines whose images are not stored yet, or are.
func (h *Handler) open(ctx context.Context, b engine.CreateRequest, c bytestream.Config, lines [][]byte) (*engine.Session, error) {
	d := bytestream.Dialect{}
	var err error
	if b.Header, err = d.Header(c.Line()); err != nil {
		return nil, err
	}
	es := make([]core.Entry, len(lines))
	for i, line := range lines {
		if es[i], err = d.Entry(line); err != nil {
			return nil, err
		}
	}
	began := h.now()
	if b.Entries, _, err = h.cfg.Sessions.StoreImages(ctx, es); err != nil {
		return nil, err
	}
	sess, err := h.cfg.Sessions.Create(ctx, b)
	if err != nil {
		return nil, err
	}
	h.cfg.Keep(sess)
	return sess, h.cfg.Sessions.RenewImages(ctx, began, es)
}

// answerCreated answers with an existing stream; 409 if its configuration differs.
func (h *Handler) answerCreated(w http.ResponseWriter, r *http.Request, q *createRequest, sess *engine.Session, status int) error {
	var c bytestream.Config
	var tail int64
	closed := false
	err := h.view(sess, func(_ *core.State, s *stream) error {
		c, tail, closed = s.config, s.state.Tail, s.state.Closed
		return nil
	})
	if err != nil {
		return err
	}
	if status == http.StatusOK && !q.matches(&c, closed) {
		return refuse(http.StatusConflict, "stream %.200q exists with another configuration", q.path)
	}
	w.Header().Set("Content-Type", c.ContentType)
	w.Header().Set(headerNext, formatOffset(tail))
	if closed {
		w.Header().Set(headerClosed, "true")
	}
	if status == http.StatusCreated {
		w.Header().Set("Location", urlOf(r, q.path))
	}
	w.WriteHeader(status)
	return nil
}

// matches reports whether a stream is what the request describes.
func (q *createRequest) matches(c *bytestream.Config, closed bool) bool {
	want := q.contentType
	switch {
	case want == "" && q.fork != nil:
		want = c.ContentType
	case want == "":
		want = defaultType
	}
	if !sameType(want, c.ContentType) || q.close != closed {
		return false
	}
	if (q.fork != nil) != (c.From != nil) {
		return false
	}
	if q.fork != nil && (q.fork.path != c.From.Path || q.fork.offset != nil && *q.fork.offset != c.From.Offset || q.fork.sub != c.From.Sub) {
		return false
	}
	if q.fork != nil && q.ttl == nil && q.expires == "" { // inherited
		return true
	}
	if (q.ttl != nil) != (c.TTL != nil) || q.ttl != nil && *q.ttl != *c.TTL {
		return false
	}
	return q.expires == c.ExpiresAt
}
