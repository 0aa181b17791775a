package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
)

const maxLost = 30

// exportAs answers with the session as a file of another agent.
func (s *Server) exportAs(w http.ResponseWriter, r *http.Request, as string) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	to, err := dialect.Named(as)
	if err != nil {
		return err
	}
	var res convert.Result
	elsewhere := false
	err = sess.View(func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		elsewhere = st.Dialect.ImageStore() != "" && to.ImageStore() == ""
		res, err = convert.Convert(convert.Request{
			From: st.Dialect, To: to, Header: st.Header, Entries: st.Entries, Leaf: leaf,
			ID:   convert.SessionID(string(st.ID), as),
			Time: createdAt(st),
		})
		return err
	})
	if err != nil {
		return err
	}
	lines := to.Layout(res.Header, res.Entries)
	if elsewhere {
		if err := s.bringIn(r, lines, &res.Lost); err != nil {
			return err
		}
	}
	lost, err := json.Marshal(res.Lost[:min(len(res.Lost), maxLost)])
	if err != nil {
		return err
	}
	dir, name := to.FileName(res.Header)
	w.Header().Set(api.HeaderDir, dir)
	w.Header().Set(api.HeaderFile, name)
	w.Header().Set(api.HeaderLost, asciiJSON(lost))
	return s.lines(w, r, lines)
}

// createdAt is when the session was made, as its agent or else the log has it.
func createdAt(st *core.State) string {
	if t := st.Dialect.Summary(st.Header, st.Entries).Created; t != "" {
		return t
	}
	return st.Origin.Time.UTC().Format("2006-01-02T15:04:05.000Z")
}

// bringIn has the images of an agent's own store, as far as they are here, be
// images of the log in lines. Those that are not here stay references.
func (s *Server) bringIn(r *http.Request, lines []core.Entry, lost *[]convert.Loss) error {
	missing := 0
	for i := range lines {
		line, err := core.ImportImageRefs(lines[i].Line, func(d core.Digest) bool {
			_, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d))
			if err != nil {
				missing++
			}
			return err == nil
		})
		if err != nil {
			return fmt.Errorf("entry %.64q: %w", lines[i].ID, err)
		}
		lines[i].Line = line
	}
	if missing > 0 {
		*lost = append([]convert.Loss{{What: "images that were never brought along", Count: missing}}, *lost...)
	}
	return nil
}

// asciiJSON is JSON as the value of a header.
func asciiJSON(b []byte) string {
	var out strings.Builder
	for _, r := range string(b) {
		if r < 0x7F {
			out.WriteRune(r)
			continue
		}
		if r > 0xFFFF {
			r = '?'
		}
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return out.String()
}
