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
	"github.com/sesslog/sesslog/internal/memory"
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
	q := r.URL.Query()
	from, err := numberOf(q.Get("from"), 0)
	if err != nil || from < 0 {
		return fmt.Errorf("from=%.64q: use a number, 0 or more: %w", q.Get("from"), core.ErrInvalid)
	}
	d, path, err := pathIn(sess, q.Get("head"), q.Get("leaf"))
	if err != nil {
		return err
	}
	all := edits.Of(d, path)
	some, size := pageOf(all[min(from, len(all)):])
	if err := memory.Grow(r.Context(), builtFactor*size); err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Edits{Session: sess.ID(), Edits: some, Total: len(all)})
}

// maxEdits and maxEditBytes bound the edits of one answer and their texts, of which a line
// may repeat one for each edit. An answer has at least one edit.
const (
	maxEdits     = 10000
	maxEditBytes = 16 << 20
)

// pageOf returns the first edits of all, and their size.
func pageOf(all []edits.FileEdit) (some []edits.FileEdit, size int64) {
	some = []edits.FileEdit{}
	for i := range all[:min(len(all), maxEdits)] {
		if size += all[i].Size(); i > 0 && size > maxEditBytes {
			break
		}
		some = append(some, all[i])
	}
	return some, size
}
