package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/newid"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

func (s *Server) append(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.checkLines(body); err != nil {
		return err
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	lines, numbers := api.EntryLines(body)
	rec, err := s.appendTo(r, lines, after)
	if e, ok := errors.AsType[*core.LineError](err); ok {
		return &core.LineError{Line: numbers[e.Line-1], ID: e.ID, Err: e.Err}
	}
	if err != nil {
		return err
	}
	return s.appended(w, r, rec)
}

// ifMatch returns the cursor of If-Match, since which the head or the session
// must not have moved; nil if the request has none.
func ifMatch(r *http.Request) (*core.Cursor, error) {
	m := strings.Trim(r.Header.Get("If-Match"), `"`)
	if m == "" {
		return nil, nil
	}
	c, err := core.ParseCursor(m)
	return &c, err
}

// appendTo appends lines to the session and head of the request.
func (s *Server) appendTo(r *http.Request, lines [][]byte, after *core.Cursor) (core.Receipt, error) {
	key := r.Header.Get(api.HeaderIdempotency)
	if err := checkText(key, r.Header.Get(api.HeaderWriter), r.URL.Query().Get("branch")); err != nil {
		return core.Receipt{}, err
	}
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return core.Receipt{}, err
	}
	// The cached state is enough: the append finds the end of the log itself.
	ctx, cancel := context.WithTimeout(r.Context(), openTimeout)
	defer cancel()
	sess, err := s.cfg.Cache.Get(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		sess, err = s.strict(ctx, string(id)) // a new leader may not know it yet
	}
	if err != nil {
		return core.Receipt{}, err
	}
	how, err := session.ParseOnConflict(r.URL.Query().Get("onConflict"))
	if err != nil {
		return core.Receipt{}, err
	}
	a := engine.Append{
		Head:   r.Header.Get(api.HeaderHead),
		Writer: r.Header.Get(api.HeaderWriter),
		After:  after,
		Lines:  lines,

		OnConflict: how,
		Branch:     r.URL.Query().Get("branch"),
	}
	if key != "" {
		_ = sess.View(func(st *core.State) error {
			a.ID = func(i int) string { return derivedID(st, key, i) }
			if shortens(st.Dialect) {
				a.LongID = func(i int) string { return longID(st, key, i) }
			}
			return nil
		})
	}
	return sess.Append(r.Context(), a)
}

// derivedID returns the id of line i that a caller sent without one. It has the
// agent's format and is the same for the same Idempotency-Key on every node.
func derivedID(st *core.State, key string, i int) string {
	return st.Dialect.EntryID(derivedBytes(st, key, i))
}

// longID is derivedID as a UUID, the form that pi uses if it finds no short id.
func longID(st *core.State, key string, i int) string {
	return newid.UUID(derivedBytes(st, key, i))
}

func derivedBytes(st *core.State, key string, i int) [16]byte {
	sum := sha256.Sum256([]byte(string(st.ID) + "\x00" + key + "\x00" + strconv.Itoa(i)))
	return [16]byte(sum[:16])
}

// shortens reports whether ids of d have too few digits to be unique in a long
// session.
func shortens(d core.Dialect) bool { return len(d.EntryID([16]byte{})) < 16 }

func (s *Server) appended(w http.ResponseWriter, r *http.Request, rec core.Receipt) error {
	w.Header().Set("ETag", `"`+rec.Cursor.String()+`"`)
	out := core.Receipt{IDs: rec.IDs, Cursor: rec.Cursor, Stored: rec.Stored, Blobs: rec.Blobs}
	if asked := cmp.Or(r.Header.Get(api.HeaderHead), core.MainHead); rec.Head != asked {
		out.Head = rec.Head
	}
	return answer(w, http.StatusOK, out)
}

func (s *Server) label(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		api.LabelRequest
		Label *string `json:"label"`
	}
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if q.Label == nil {
		return fmt.Errorf("label is missing; an empty one clears the label: %w", core.ErrInvalid)
	}
	if err := checkText(q.Target, *q.Label); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var line []byte
	err = sess.View(func(st *core.State) error {
		if _, ok := st.Entry(q.Target); !ok {
			return fmt.Errorf("session %s has no entry %.64q: %w", st.ID, q.Target, core.ErrNotFound)
		}
		if line = st.Dialect.NewLabel(q.Target, *q.Label); line == nil {
			return fmt.Errorf("sessions of %s have no labels: %w", st.Dialect.Name(), core.ErrInvalid)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.appendLine(w, r, line)
}

func (s *Server) name(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Name *string `json:"name"` // of api.NameRequest
	}
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if q.Name == nil {
		return fmt.Errorf("name is missing; an empty one clears the name: %w", core.ErrInvalid)
	}
	if err := checkText(*q.Name); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var line []byte
	err = sess.View(func(st *core.State) error {
		if line = st.Dialect.NewName(*q.Name); line == nil {
			return tree.NoName(st.Dialect)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.appendLine(w, r, line)
}

func (s *Server) appendLine(w http.ResponseWriter, r *http.Request, line []byte) error {
	rec, err := s.appendTo(r, [][]byte{line}, nil)
	if err != nil {
		return err
	}
	return s.appended(w, r, rec)
}
