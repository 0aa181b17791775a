package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/tree"
)

// leafOf returns the leaf to read from: ?leaf=ID, ?leaf=null, or the leaf of
// ?head=.
func leafOf(st *core.State, r *http.Request) (core.Leaf, error) {
	q := r.URL.Query()
	return leafAt(st, q.Get("head"), q.Get("leaf"))
}

func leafAt(st *core.State, head, leaf string) (core.Leaf, error) {
	switch leaf {
	case "":
	case "null":
		return core.NoLeaf, nil
	default:
		return core.LeafAt(leaf), nil
	}
	if head == "" {
		return st.Leaf(core.MainHead), nil
	}
	if _, ok := st.Heads[head]; !ok {
		return core.Leaf{}, fmt.Errorf("session %s has no head %.64q: %w", st.ID, head, core.ErrNotFound)
	}
	return st.Leaf(head), nil
}

func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	if as := r.URL.Query().Get("as"); as != "" {
		return limited(s.limiters.heavy, func(w http.ResponseWriter, r *http.Request) error { return s.exportAs(w, r, as) })(w, r)
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var d core.Dialect
	var h core.Header
	var es []core.Entry
	var o core.Origin
	err = viewAt(r, sess, func(st *core.State) error {
		d, h, es, o = st.Dialect, st.Header, st.Entries, st.Origin
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if r.URL.Query().Get("packed") == "true" && !notModifiedSinceCursor(w, r) {
		return s.lines(w, r, core.Header{Line: image.Escape(h.Line)}.Before(es))
	}
	original := r.URL.Query().Get("original") == "true"
	if (!original || o.Original.IsZero()) && notModifiedSinceCursor(w, r) {
		return nil
	}
	if !original {
		return s.lines(w, r, layout(d, h, es))
	}
	if !o.Original.IsZero() {
		return s.writeBlob(w, r, o.Original)
	}
	// No original is kept, so the file was byte-identical to its first entries.
	return s.lines(w, r, layout(d, h, es[:min(o.Entries, len(es))]))
}

// layout returns the lines of a session's file for Server.lines. Some agents' files
// are made of the entries' parts, so only images of es may be restored in them.
func layout(d core.Dialect, h core.Header, es []core.Entry) []core.Entry {
	h.Line = image.Escape(h.Line)
	lines := d.Layout(h, es)
	image.EscapeForeignLines(lines, image.OwnBlobs(es))
	return lines
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	var lines []core.Entry
	err = sess.View(func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		es, err := entriesEndingAt(st, leaf)
		if err != nil {
			return err
		}
		lines = layout(st.Dialect, st.Header, es)
		dir, name := st.Dialect.FileName(st.Header)
		w.Header().Set(api.HeaderDialect, st.Dialect.Name())
		w.Header().Set(api.HeaderDir, dir)
		w.Header().Set(api.HeaderFile, name)
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		return nil
	})
	if err != nil {
		return err
	}
	if notModifiedSinceCursor(w, r) {
		return nil
	}
	return s.lines(w, r, lines)
}

// entriesEndingAt returns the session's entries ordered such that an agent that
// reads them from a file continues at leaf. If no order does that, it adds the
// agent's own entry for the leaf, which the log does not have.
func entriesEndingAt(st *core.State, leaf core.Leaf) ([]core.Entry, error) {
	if es, ok := tree.EndAt(st.Dialect, st.Entries, leaf); ok {
		return es, nil
	}
	id, named := leaf.ID()
	if _, ok := st.Entry(id); named && !ok {
		return nil, fmt.Errorf("entry %.64q of session %s: %w", id, st.ID, core.ErrNotFound)
	}
	// If the agent reads nothing up to leaf, its leaf is before all entries.
	if e, ok := leafEntry(st, leaf); ok {
		return append(slices.Clip(st.Entries), e), nil
	}
	where := "before the first entry"
	if named {
		where = fmt.Sprintf("to entry %.64q", id)
	}
	return nil, fmt.Errorf("session %s: the head points %s, which %s files cannot represent; move it with: sessctl move-head: %w",
		st.ID, where, st.Dialect.Name(), core.ErrInvalid)
}

// leafEntry returns the agent's own entry that sets the leaf: before all entries,
// or, for an agent that always has such a line, anywhere.
// Its id is derived, so that repeated exports are byte-identical.
func leafEntry(st *core.State, leaf core.Leaf) (core.Entry, bool) {
	it := item.Item{Kind: item.Leaf}
	if _, ok := st.Dialect.(core.Linker); ok {
		it.Target, _ = leaf.ID()
	}
	line, lost := st.Dialect.Write(it)
	if line == nil || len(lost) > 0 || st.Dialect.Linear() {
		return core.Entry{}, false
	}
	f := core.Fields{Parent: st.Dialect.Leaf(st.Entries), Time: st.Header.Time}
	for _, e := range slices.Backward(st.Entries) {
		if e.Time != "" {
			f.Time = e.Time
			break
		}
	}
	for n := 0; ; n++ {
		f.ID = derivedID(st, "leaf\x00"+st.Cursor().String(), n)
		if _, taken := st.Entry(f.ID); !taken {
			break
		}
	}
	e, err := st.Dialect.Fill(line, f)
	return e, err == nil
}

// lines writes es as JSONL with their images restored. A failure after the first
// byte aborts the answer.
func (s *Server) lines(w http.ResponseWriter, r *http.Request, es []core.Entry) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	lease := s.limiters.memory.Lease()
	defer lease.Release()
	var buf bytes.Buffer
	begun := false
	for i := range es {
		line, err := s.inline(r.Context(), lease, es[i].Line)
		if err != nil && r.Context().Err() != nil {
			return errAborted
		}
		if err != nil && begun {
			s.logger(w).Warn("export broke off", "path", r.URL.Path, "entry", es[i].ID, "err", err)
			return errAborted
		}
		if err != nil {
			return fmt.Errorf("entry %.64q: %w", es[i].ID, err)
		}
		if buf.Len()+len(line) > chunkSize { // a large line is not copied
			begun = true
			if writeAll(w, buf.Bytes(), line) != nil {
				return errAborted
			}
			buf.Reset()
			line = nil
		}
		buf.Write(line)
		buf.WriteByte('\n')
		lease.Release()
	}
	if writeAll(w, buf.Bytes()) != nil {
		return errAborted
	}
	return nil
}

// storedLines answers with lines as the log has them: references in place of images.
func (s *Server) storedLines(w http.ResponseWriter, r *http.Request, es []core.Entry) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	for i := range es {
		if writeAll(w, es[i].Line, []byte{'\n'}) != nil || r.Context().Err() != nil {
			return errAborted
		}
	}
	return nil
}

func writeAll(w io.Writer, parts ...[]byte) error {
	for _, b := range parts {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

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
	if err := reserve(r, sess); err != nil {
		return err
	}
	var res convert.Result
	var es []core.Entry
	external := false
	err = viewAt(r, sess, func(st *core.State) error {
		leaf, err := leafOf(st, r)
		if err != nil {
			return err
		}
		w.Header().Set(api.HeaderCursor, st.Cursor().String())
		es, external = st.Entries, st.Dialect.ImageStore() != "" && to.ImageStore() == ""
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
	own := image.OwnBlobs(es)
	res.Entries = slices.Clone(res.Entries)
	image.EscapeForeignLines(res.Entries, own)
	lines := layout(to, res.Header, res.Entries)
	if external {
		if err := s.inlineImages(r, lines, own, &res.Lost); err != nil {
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

// createdAt returns when the session was created, by its agent's header if that
// has it, else by the log.
func createdAt(st *core.State) string {
	if t := st.Dialect.Summary(st.Header, st.Entries).Created; t != "" {
		return t
	}
	return st.Origin.Time.UTC().Format("2006-01-02T15:04:05.000Z")
}

// inlineImages turns references to images of an agent's own store into images of
// the log, if they are here and the caller may read them. Others stay references and
// are counted in lost.
func (s *Server) inlineImages(r *http.Request, lines []core.Entry, own func(core.Digest) bool, lost *[]convert.Loss) error {
	missing := 0
	may := callerOf(r.Context()).readable(own)
	for i := range lines {
		line, err := image.ImportRefs(lines[i].Line, func(d core.Digest) bool {
			if may(d) {
				if _, err := s.cfg.Blobs.Stat(r.Context(), blobstore.Ref(d)); err == nil {
					return true
				}
			}
			missing++
			return false
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

// asciiJSON escapes JSON for use as a header's value.
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
