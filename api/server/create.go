package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

// isLines reports whether the request's body is lines rather than one object.
func isLines(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-ndjson"
}

// createWhole creates a session from its header and entries in one record.
func (s *Server) createWhole(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkLines(body); err != nil {
		return err
	}
	q := r.URL.Query()
	if err := checkText(q.Get("by"), r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	lines, numbers := api.EntryLines(body)
	if len(lines) == 0 {
		return fmt.Errorf("the body is empty; it begins with the session's header: %w", core.ErrInvalid)
	}
	n := session.New{Dialect: dialectOrPi(q.Get("dialect")), Header: lines[0], Lines: lines[1:], By: q.Get("by"), Key: keyOf(r)}
	if err := mayCreateNew(r.Context(), n); err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.CreateStrict(r.Context(), n)
	if e, ok := errors.AsType[*core.LineError](err); ok {
		return &core.LineError{Line: numbers[e.Line], ID: e.ID, Err: e.Err}
	}
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(sess)
	return s.created(w, sess)
}

// mayCreateNew is mayCreateFrom for the caller and the header of n.
func mayCreateNew(ctx context.Context, n session.New) error {
	c := callerOf(ctx)
	if c.Prefix == "" {
		return nil
	}
	d, err := dialect.Named(n.Dialect)
	if err != nil {
		return err
	}
	h, err := d.Header(n.Header)
	if err != nil {
		return err
	}
	return c.mayCreateFrom(n.Dialect, h)
}

func dialectOrPi(dialect string) string {
	if dialect == "" {
		return "pi"
	}
	return dialect
}

// keyOf returns the request's Idempotency-Key as the log keeps it, empty for none. It is
// the id of a session for which the caller chooses none.
func keyOf(r *http.Request) string {
	key := r.Header.Get(api.HeaderIdempotency)
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return newid.UUID([16]byte(sum[:16]))
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) error {
	if isLines(r) {
		return s.createWhole(w, r)
	}
	var body struct {
		api.Create
		ID *string `json:"id"`
	}
	if err := readJSON(r, &body); err != nil {
		return err
	}
	q, key := body.Create, keyOf(r)
	chosen, err := chosenID(body.ID)
	if err != nil {
		return err
	}
	if err := checkText(q.CWD, q.Parent, q.By, r.Header.Get(api.HeaderIdempotency)); err != nil {
		return err
	}
	id := cmp.Or(chosen, core.SessionID(key), newid.Session(ulid.Make()))
	if err := callerOf(r.Context()).mayCreate(id); err != nil {
		return err
	}
	q.Dialect = dialectOrPi(q.Dialect)
	d, err := dialect.Named(q.Dialect)
	if err != nil {
		return err
	}
	if q.Kind != "" && (q.Parent != "" || len(q.Parents) > 0) {
		return fmt.Errorf("kind %.64q is of a session without parents; a parent has its own: %w", q.Kind, core.ErrInvalid)
	}
	if !lineage.IsRecording(r.Context()) {
		q.Parent, q.Parents, q.Kind = "", nil, ""
	}
	parents, from, err := s.parents(r.Context(), q.Parents)
	if err != nil {
		return err
	}
	o := core.Origin{Dialect: q.Dialect, Time: time.Now().UTC(), By: q.By, Parents: parents}
	o.SetKey(key, "create", q.Dialect, q.CWD, q.Parent, q.Kind, q.Parents)
	switch {
	case q.Parent == "" && len(parents) == 0:
		o.Kind = string(lineage.Create)
	case q.Parent == "":
		q.Parent = from[0].Header.ID
	}
	kind := q.Kind
	if len(parents) > 0 {
		kind = parents[0].Kind
	}
	h, _, err := optional.Derive(d, core.HeaderFields{ID: string(id), Time: o.Time.Format("2006-01-02T15:04:05.000Z"), CWD: q.CWD, Parent: q.Parent}, kind, from, nil)
	if err != nil {
		return err
	}
	if err := callerOf(r.Context()).mayUseParents(q.Dialect, h); err != nil {
		return err
	}
	es, err := tree.WithSessionMark(d, h, nil, d.EntryID(ulid.Make()), h.Time)
	if err != nil {
		return err
	}
	sess, err := s.cfg.Sessions.Create(r.Context(), engine.CreateRequest{ID: id, Origin: o, Header: h, Entries: es})
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(sess)
	return s.created(w, sess)
}

// chosenID returns the id that the caller chose for a new session, empty if it left
// that to the node.
func chosenID(id *string) (core.SessionID, error) {
	switch {
	case id == nil:
		return "", nil
	case *id == "":
		return "", fmt.Errorf("the id is empty; leave it out for a new one: %w", core.ErrInvalid)
	}
	return newid.ParseSession(*id)
}

func (s *Server) created(w http.ResponseWriter, sess *engine.Session) error {
	c := api.Created{ID: sess.ID(), Cursor: sess.Cursor()}
	w.Header().Set("Location", "/v1/sessions/"+string(c.ID))
	return answer(w, http.StatusCreated, c)
}
