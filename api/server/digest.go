package server

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
)

// digest answers with the digest of a session's beginning. Whoever has a file
// finds out by it whether the log has all of that, without sending it.
func (s *Server) digest(w http.ResponseWriter, r *http.Request) error {
	most := -1
	if n := r.URL.Query().Get("entries"); n != "" {
		var err error
		if most, err = strconv.Atoi(n); err != nil || most < 0 {
			return fmt.Errorf("entries %.64q: use a number, 0 or more: %w", n, core.ErrInvalid)
		}
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var out api.Digested
	var h core.Header
	var es []core.Entry
	_ = sess.View(func(st *core.State) error {
		h, es = st.Header, st.Entries
		out = api.Digested{
			Session: st.ID, Cursor: st.Cursor(), Original: st.Origin.Original,
			Deleted: st.Deleted != nil || st.Erased != nil,
		}
		return nil
	})
	w.Header().Set(api.HeaderCursor, out.Cursor.String())
	if asOfCursor(w, r) {
		return nil
	}
	if most >= 0 {
		es = es[:min(most, len(es))]
	}
	out.Entries, out.SHA256 = len(es), api.DigestOf(h, es)
	return answer(w, http.StatusOK, out)
}
