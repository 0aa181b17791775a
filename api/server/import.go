package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/session"
)

// importedFrom returns the parent that an import names, or api.ErrForbidden if c may not
// use it. The log may lack it, because files may be imported in any order.
func importedFrom(c caller, q url.Values) ([]core.Lineage, error) {
	name, word := q.Get("parent"), q.Get("kind")
	if name == "" && word == "" {
		return nil, nil
	}
	id, err := core.ParseSessionID(name)
	if err != nil {
		return nil, err
	}
	if err := checkKind(word); err != nil {
		return nil, err
	}
	if err := c.mayUse(id); err != nil {
		return nil, err
	}
	return []core.Lineage{{Session: id, Kind: word}}, nil
}

func (s *Server) importFile(w http.ResponseWriter, r *http.Request) error {
	raw, release, err := s.readContent(r)
	if err != nil {
		return err
	}
	defer release()
	return s.importBytes(w, r, raw)
}

// importBytes imports a file as the query says.
func (s *Server) importBytes(w http.ResponseWriter, r *http.Request, raw []byte) error {
	q := r.URL.Query()
	if err := checkText(q.Get("by"), q.Get("branch"), r.Header.Get(api.HeaderWriter), r.Header.Get(api.HeaderHead)); err != nil {
		return err
	}
	if err := s.checkLines(raw); err != nil {
		return err
	}
	f, _, err := dialect.Read(q.Get("dialect"), raw)
	if err != nil {
		return err
	}
	c := callerOf(r.Context())
	if err := c.mayCreateFrom(f.Dialect, f.Header); err != nil {
		return err
	}
	who := core.Origin{By: q.Get("by")}
	if who.Parents, err = importedFrom(c, q); err != nil {
		return err
	}
	on, err := session.ParseOnConflict(q.Get("onConflict"))
	if err != nil {
		return err
	}
	after, err := ifMatch(r)
	if err != nil {
		return err
	}
	res, err := s.cfg.Sessions.Import(r.Context(), f, raw, who, engine.ImportOptions{
		Writer: r.Header.Get(api.HeaderWriter), OnConflict: on, Branch: q.Get("branch"), After: after, Head: r.Header.Get(api.HeaderHead),
	})
	if err != nil {
		return err
	}
	s.cfg.Cache.Put(res.Session)
	out := api.Imported{
		ID:      f.Header.ID,
		Session: res.Session.ID(),
		Created: res.Created,
		Head:    res.Head,
		Entries: res.Entries,
		Blobs:   res.Blobs,
		Skipped: f.Skipped,
		Version: f.Version,
		Cursor:  res.Session.Cursor(),
	}
	if out.Skipped == nil {
		out.Skipped = []core.BadLine{}
	}
	_ = res.Session.View(func(st *core.State) error {
		out.Kept = st.Origin.Original
		return nil
	})
	return answer(w, http.StatusOK, out)
}

// checkLines returns core.ErrTooLarge, with the line, if a line exceeds the
// limit.
func (s *Server) checkLines(b []byte) error {
	for n := 1; len(b) > 0; n++ {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		if len(line) > s.cfg.MaxLine {
			return &core.LineError{Line: n, Err: fmt.Errorf("it has %d bytes, %d are allowed (limits.line): %w", len(line), s.cfg.MaxLine, core.ErrTooLarge)}
		}
		b = rest
	}
	return nil
}
