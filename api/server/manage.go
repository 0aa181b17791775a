package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

// What agents' session managers do with a session beyond appending to it.

// state answers with all that an agent's view of the session needs, as of one
// record.
func (s *Server) state(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var head api.State
	var es []core.Entry
	_ = sess.View(func(st *core.State) error {
		head = api.State{Session: st.ID, Dialect: st.Dialect.Name(), Cursor: st.Cursor(), Heads: map[string]core.Leaf{}, Covered: st.Checkpointed, Claims: map[string]core.Claim{}, Deleted: st.Deleted}
		for name, h := range st.Heads {
			head.Heads[name] = h.Leaf
			if h.Claim != nil {
				head.Claims[name] = *h.Claim
			}
		}
		es = core.HeaderFirst(st.Header, st.Entries)
		return nil
	})
	first, err := marshal(head)
	if err != nil {
		return err
	}
	w.Header().Set(api.HeaderCursor, head.Cursor.String())
	if asOfCursor(w, r) {
		return nil
	}
	return s.lines(w, r, append([]core.Entry{{Line: first}}, es...))
}

// isLines reports whether the request's body is lines rather than one object.
func isLines(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/x-ndjson"
}

// createWhole makes a session of its header and its entries, in one record.
func (s *Server) createWhole(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(w, r)
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
	n := session.New{Dialect: orPi(q.Get("dialect")), Header: lines[0], Lines: lines[1:], By: q.Get("by"), Key: keyOf(r)}
	if err := s.makesWhole(r.Context(), n); err != nil {
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

// makesWhole returns errForbidden unless the caller may make the session that a
// header is of. A header that cannot be read is left to who makes the session.
func (s *Server) makesWhole(ctx context.Context, n session.New) error {
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
	return c.makes(core.SessionIDFor(n.Dialect, h.ID))
}

func orPi(dialect string) string {
	if dialect == "" {
		return "pi"
	}
	return dialect
}

// keyOf is the request's Idempotency-Key as the log keeps it, empty for none.
func keyOf(r *http.Request) string {
	key := r.Header.Get(api.HeaderIdempotency)
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return core.UUIDOf([16]byte(sum[:16]))
}

// branch makes a head go on from another place, in the agent's own way where it
// has one.
func (s *Server) branch(w http.ResponseWriter, r *http.Request) error {
	var q api.BranchRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if q.At.IsDefault() {
		return fmt.Errorf(`the body names no place; send {"at":{"id":"…"}} or {"at":{"none":true}}: %w`, core.ErrInvalid)
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	head := r.Header.Get(api.HeaderHead)
	if head == "" {
		head = core.MainHead
	}
	var line []byte
	var done *api.Appended
	err = sess.View(func(st *core.State) (err error) {
		if done = doneBefore(st, r); done == nil {
			line, err = branchLine(st, head, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	if done != nil {
		return answer(w, http.StatusOK, done)
	}
	if line != nil {
		rec, err := s.appendTo(r, [][]byte{line}, after)
		if err != nil {
			return err
		}
		return s.appended(w, r, rec)
	}
	if err := sess.MoveAfter(r.Context(), head, r.Header.Get(api.HeaderWriter), q.At, after); err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Appended{IDs: []string{}, Cursor: cursorOf(sess)})
}

// doneBefore is the answer to a request whose entry is there already, nil where
// it is not. What such an entry says of the branch that was left cannot be made
// anew: the head has moved since.
func doneBefore(st *core.State, r *http.Request) *api.Appended {
	key := r.Header.Get(api.HeaderIdempotency)
	if key == "" {
		return nil
	}
	id := derivedID(st, key, 0)
	if _, ok := st.Entry(id); !ok {
		return nil
	}
	return &api.Appended{IDs: []string{id}, Cursor: st.Cursor()}
}

// branchLine is the line that says q, nil where the head is to be moved without
// one.
func branchLine(st *core.State, head string, q api.BranchRequest) ([]byte, error) {
	left := st.Leaf(head)
	id, named := q.At.ID()
	if _, ok := st.Entry(id); named && !ok {
		return nil, fmt.Errorf("session %s has no entry %.64q: %w", st.ID, id, core.ErrNotFound)
	}
	if st.Dialect.Linear() && left != q.At {
		return nil, fmt.Errorf("sessions of %s have no branches: %w", st.Dialect.Name(), core.ErrInvalid)
	}
	if q.Summary == "" {
		if !named || left == q.At {
			return nil, nil
		}
		line, _ := st.Dialect.Write(core.Item{Kind: core.ItemLeaf, Target: id})
		return line, nil
	}
	line, lost := st.Dialect.Write(core.BranchSummary(st.Dialect, left, q.At, q.Summary, q.Details))
	if line == nil || len(lost) > 0 {
		return nil, fmt.Errorf("%s has no place for this summary %.64q: %w", st.Dialect.Name(), lost, core.ErrInvalid)
	}
	// The parent is said here: it is not where the head stands.
	e, err := st.Dialect.Fill(line, core.Fields{Parent: q.At})
	return e.Line, err
}

// children answers with the entries that hang on ?of=, or with the roots.
func (s *Server) children(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	of := r.URL.Query().Get("of")
	var es []core.Entry
	err = sess.View(func(st *core.State) error {
		if _, ok := st.Entry(of); of != "" && !ok {
			return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, of, core.ErrNotFound)
		}
		es = core.Children(st.Dialect, st.Entries, of)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if asOfCursor(w, r) {
		return nil
	}
	return s.lines(w, r, es)
}

// amend gives an entry another line.
func (s *Server) amend(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkLines(body); err != nil {
		return err
	}
	lines, _ := api.EntryLines(body)
	if len(lines) != 1 {
		return fmt.Errorf("the body has %d lines, it is the entry's new one: %w", len(lines), core.ErrInvalid)
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	id := r.PathValue("entry")
	a := engine.Amend{After: after}
	a.Lines(lines)
	read := a.Change
	a.Change = func(st *core.State) ([]core.Entry, error) {
		es, err := read(st)
		if err == nil && es[0].ID != id {
			err = fmt.Errorf("the line has the id %.64q, an entry keeps its own: %w", es[0].ID, core.ErrInvalid)
		}
		return es, err
	}
	return s.amendWith(w, r, a)
}

// meta replaces what a message says of the channel that it came through.
func (s *Server) meta(w http.ResponseWriter, r *http.Request) error {
	var meta json.RawMessage
	if err := readJSON(r, &meta); err != nil {
		return err
	}
	began, given := time.Now(), []core.Entry{{Line: meta}}
	kept, _, err := s.cfg.Sessions.Keep(r.Context(), given)
	if err != nil {
		return err
	}
	id := r.PathValue("entry")
	return s.amendWith(w, r, engine.Amend{Given: given, Began: began, Change: func(st *core.State) ([]core.Entry, error) {
		a, err := annotator(st)
		if err != nil {
			return nil, err
		}
		e, ok := st.Entry(id)
		if !ok {
			return nil, fmt.Errorf("session %s has no entry %.64q: %w", st.ID, id, core.ErrNotFound)
		}
		e, err = a.WithMeta(e, kept[0].Line)
		return []core.Entry{e}, err
	}})
}

// react adds a reaction to a message.
func (s *Server) react(w http.ResponseWriter, r *http.Request) error {
	var q api.ReactionRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkText(q.Message, q.Emoji); err != nil {
		return err
	}
	if q.Emoji == "" {
		return fmt.Errorf("the reaction is empty: %w", core.ErrInvalid)
	}
	return s.amendWith(w, r, engine.Amend{Change: func(st *core.State) ([]core.Entry, error) {
		a, err := annotator(st)
		if err != nil {
			return nil, err
		}
		e, err := a.WithReaction(st.Entries, q.Message, q.Emoji)
		return []core.Entry{e}, err
	}})
}

func annotator(st *core.State) (core.Annotator, error) {
	a, ok := st.Dialect.(core.Annotator)
	if !ok {
		return nil, fmt.Errorf("messages of %s carry no such notes: %w", st.Dialect.Name(), core.ErrInvalid)
	}
	return a, nil
}

func (s *Server) amendWith(w http.ResponseWriter, r *http.Request, a engine.Amend) error {
	writer := r.Header.Get(api.HeaderWriter)
	if err := checkText(writer); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	a.Head, a.Writer = r.Header.Get(api.HeaderHead), writer
	at, err := sess.Amend(r.Context(), a)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Amended{Cursor: at})
}
