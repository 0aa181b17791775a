package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/core"
)

// Digested is a digest of a session's beginning: of its header's line and its
// first entry lines as the log keeps them, images as blobs, each with a newline.
type Digested struct {
	Session  core.SessionID `json:"session"`
	Entries  int            `json:"entries"` // that the digest is of: as many as were asked for, or all there are
	SHA256   core.Digest    `json:"sha256"`
	Cursor   core.Cursor    `json:"cursor"`
	Original core.Digest    `json:"original,omitzero"` // the file that was imported, where it is kept
	Deleted  bool           `json:"deleted,omitempty"` // in the trash, or erased
}

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
	var out Digested
	var h core.Header
	var es []core.Entry
	_ = sess.View(func(st *core.State) error {
		h, es = st.Header, st.Entries
		out = Digested{
			Session: st.ID, Cursor: st.Cursor(), Original: st.Origin.Original,
			Deleted: st.Deleted != nil || st.Erased != nil,
		}
		return nil
	})
	if most >= 0 {
		es = es[:min(most, len(es))]
	}
	out.Entries, out.SHA256 = len(es), DigestOf(h, es)
	w.Header().Set(HeaderCursor, out.Cursor.String())
	return answer(w, http.StatusOK, out)
}

// DigestOf returns the digest of a header's line and of entry lines, as the
// answer of GET /v1/sessions/{id}/digest has it. The lines are as the log keeps
// them, see core.Externalize.
func DigestOf(h core.Header, es []core.Entry) core.Digest {
	sum := sha256.New()
	newline := []byte("\n")
	_, _ = sum.Write(h.Line)
	_, _ = sum.Write(newline)
	for i := range es {
		_, _ = sum.Write(es[i].Line)
		_, _ = sum.Write(newline)
	}
	return core.Digest(sum.Sum(nil))
}

// Digest returns the digest of a session's header and first entries.
func (c *Client) Digest(ctx context.Context, id string, entries int) (Digested, error) {
	return get[Digested](ctx, c, c.session(id, "/digest"), url.Values{"entries": {strconv.Itoa(entries)}})
}
