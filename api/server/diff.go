package server

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/edits"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/engine"
)

// diff compares the path to ?head= or ?leaf= with another one of this session, or of the
// session ?with=.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := numberOf(q.Get("limit"), -1)
	if err != nil || limit < 0 && q.Has("limit") {
		return fmt.Errorf("limit=%.64q: use a number, 0 or more: %w", q.Get("limit"), core.ErrInvalid)
	}
	one, err := s.session(r)
	if err != nil {
		return err
	}
	other := one
	if with := q.Get("with"); with != "" {
		if other, err = s.named(r.Context(), with); err != nil {
			return err
		}
	}
	if err := reserve(r, one); err != nil {
		return err
	}
	if err := reserve(r, other); err != nil {
		return err
	}
	_, a, err := pathIn(one, q.Get("head"), q.Get("leaf"))
	if err != nil {
		return err
	}
	_, b, err := pathIn(other, q.Get("withHead"), q.Get("withLeaf"))
	if err != nil {
		return err
	}
	out := api.Diff{Common: tree.Common(a, b)}
	if out.Common > 0 {
		out.At = a[out.Common-1].ID
	}
	out.A, out.B = sideOf(one, a[out.Common:], limit), sideOf(other, b[out.Common:], limit)
	return answer(w, http.StatusOK, out)
}

// pathIn returns the entries to a head or a leaf of a session.
func pathIn(sess *engine.Session, head, leaf string) (d core.Dialect, path []core.Entry, err error) {
	err = sess.View(func(st *core.State) error {
		at, err := leafAt(st, head, leaf)
		if err != nil {
			return err
		}
		d = st.Dialect
		path, err = d.Path(st.Entries, at)
		return err
	})
	return d, path, err
}

// sideOf returns a path after its common beginning with another, up to limit entries, or
// all if limit is negative.
func sideOf(sess *engine.Session, path []core.Entry, limit int) api.DiffSide {
	side := api.DiffSide{Session: sess.ID(), Total: len(path), Entries: []json.RawMessage{}}
	if limit >= 0 {
		path = path[:min(limit, len(path))]
	}
	for i := range path {
		line := json.RawMessage(path[i].Line)
		if !json.Valid(line) {
			line, _ = json.Marshal(string(line))
		}
		side.Entries = append(side.Entries, line)
	}
	return side
}

// edits answers with what the tools of a session change in files, on the path to ?head=
// or ?leaf=.
func (s *Server) edits(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if err := reserve(r, sess); err != nil {
		return err
	}
	d, path, err := pathIn(sess, r.URL.Query().Get("head"), r.URL.Query().Get("leaf"))
	if err != nil {
		return err
	}
	out := api.Edits{Session: sess.ID(), Edits: edits.Of(d, path)}
	if out.Edits == nil {
		out.Edits = []edits.FileEdit{}
	}
	return answer(w, http.StatusOK, out)
}
