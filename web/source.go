package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/session/catalog"
)

// A source is the session that a request is about, read with the rights of the request.
type source struct {
	*client.Client
	d    core.Dialect
	row  catalog.Row
	id   string // empty if the session is that of a share link
	base string // address of its pages
}

// sessionBase is the address of the pages of a session.
func sessionBase(id core.SessionID) string { return "/sessions/" + url.PathEscape(string(id)) }

// sharedBase is the address of the pages of a share link.
func sharedBase(link string) string { return "/shared/" + url.PathEscape(link) }

// source returns the session of a request: the one in its path, or that of its share
// link.
func (p *page) source(r *http.Request) (*source, error) {
	link, c := r.PathValue("share"), p.client(r)
	if link == "" {
		return p.sourceOf(r.Context(), c, core.SessionID(r.PathValue("id")))
	}
	shown, err := c.Shared(r.Context())
	if err != nil {
		return nil, err
	}
	row := catalog.Row{ID: shown.Session, Dialect: shown.Dialect, CWD: shown.CWD, Summary: shown.Summary}
	return p.with(&source{Client: c, row: row, base: sharedBase(link)})
}

// partSource is source for a part of a page or an image, whose address has the dialect, so
// that the session needs no summary. The caller must read entries, which checks the rights.
func (p *page) partSource(r *http.Request) (*source, error) {
	link, id, dialect := r.PathValue("share"), r.PathValue("id"), r.FormValue("dialect")
	if dialect == "" {
		return p.source(r)
	}
	s := &source{Client: p.client(r), row: catalog.Row{ID: core.SessionID(id), Dialect: dialect}, id: id, base: sessionBase(core.SessionID(id))}
	if link != "" {
		s.base = sharedBase(link)
	}
	return p.with(s)
}

// sourceOf returns the session called id.
func (p *page) sourceOf(ctx context.Context, c *client.Client, id core.SessionID) (*source, error) {
	row, err := rowOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return p.with(&source{Client: c, row: row, id: string(id), base: sessionBase(id)})
}

// with adds the dialect to a source.
func (p *page) with(s *source) (*source, error) {
	if s.d = p.dialects[s.row.Dialect]; s.d == nil {
		return nil, fmt.Errorf("session %s is of dialect %.40q, which this node does not know: %w", s.row.ID, s.row.Dialect, core.ErrTooNew)
	}
	return s, nil
}

// view returns what a request asks for: a head or a leaf. A share link has one path.
func (s *source) view(r *http.Request) client.View {
	if s.id == "" {
		return client.View{}
	}
	return client.View{Head: cmp.Or(r.FormValue("head"), core.MainHead), Leaf: r.FormValue("leaf")}
}

// rowOf returns the row of a session, also of one in the trash.
func rowOf(ctx context.Context, c *client.Client, id core.SessionID) (catalog.Row, error) {
	row, found, err := listed(ctx, c, id, false)
	if found || err != nil {
		return row, err
	}
	info, missing := c.Info(ctx, string(id))
	if missing != nil || info.Log.Deleted != nil {
		if row, found, err = listed(ctx, c, id, true); found || err != nil {
			return row, err
		}
	}
	// The node's directory lags.
	return catalog.Row{ID: id, Dialect: info.Log.Dialect, CWD: info.CWD, Entries: info.EntryCount}, missing
}

// listed returns the row of a session in the list of sessions, or of those in the trash.
func listed(ctx context.Context, c *client.Client, id core.SessionID, deleted bool) (row catalog.Row, found bool, err error) {
	list, err := c.List(ctx, catalog.Filter{Prefix: string(id), Deleted: deleted, Sort: catalog.SortCreated, Limit: 50})
	if err != nil {
		return row, false, err
	}
	at := slices.IndexFunc(list.Sessions, func(r catalog.Row) bool { return r.ID == id })
	if at < 0 {
		return row, false, nil
	}
	return list.Sessions[at], true, nil
}

// A window is consecutive entries of a path.
type window struct {
	From, To, Total int
	Entries         []*entry
	Cursor          core.Cursor
	first, last     string // ids of the first and the last entry, also if the page does not show them
}

// shownWork is the number of copies of a rendered entry that are in memory at a time.
const shownWork = 3

// read reads up to limit entries of the path to v.
func (s *source) read(ctx context.Context, v client.View, from, limit int) (window, error) {
	return s.readAfter(ctx, v, from, limit, 0)
}

// readAfter is read, but the window does not show the first skip of the entries. So their
// calls do not take the results in later entries.
func (s *source) readAfter(ctx context.Context, v client.View, from, limit, skip int) (window, error) {
	var w window
	entries := newEntryReader(s.d, s.base)
	n := 0
	var size int64 // of the entries that are not reserved yet
	got, err := s.ReadWindow(ctx, s.id, v, from, limit, func(line []byte) error {
		at := n
		n++
		e, err := s.d.Entry(line)
		if err != nil {
			return nil
		}
		if at == 0 {
			w.first = e.ID
		}
		w.last = e.ID
		if at < skip {
			return nil
		}
		out := entries.read(e, at)
		if out == nil {
			return nil
		}
		w.Entries = append(w.Entries, out)
		if size += out.size(); size < memory.Small {
			return nil
		}
		err = memory.Grow(ctx, size*shownWork)
		size = 0
		return err
	})
	for _, e := range w.Entries {
		e.Number += got.From
	}
	w.From, w.To, w.Total, w.Cursor = got.From, got.From+n, got.Total, got.Cursor
	return w, err
}

// number returns the number of an entry on the path to it. It has the same number on every
// path.
func (s *source) number(ctx context.Context, entry string) (int, error) {
	at, err := s.ReadWindow(ctx, s.id, client.View{Leaf: entry}, -1, 1, func([]byte) error { return nil })
	return at.From, err
}
