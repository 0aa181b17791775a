package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/catalog"
)

const (
	chunkSize = 100  // entries that are loaded at a time
	maxChunks = 2000 // of one page; those of a longer session are larger
)

// A session is what every page about one session shows at its top.
type session struct {
	Row   catalog.Row
	Tab   string
	Heads []api.HeadInfo
	More  int    // heads that are left out
	Head  string // that is shown
	Leaf  string // that is shown in place of a head's
}

// Title is the name of the session, or how it began.
func (s *session) Title() string {
	return titleOf(s.Row.Name, s.Row.First, cmp.Or(s.Row.ShortID, string(s.Row.ID)))
}

func titleOf(name, first, id string) string {
	return cmp.Or(line(name, 120), line(first, 120), "Session "+line(id, 40))
}

// Claim is the claim of the head that is shown, or nil.
func (s *session) Claim() *api.HeadInfo {
	for i := range s.Heads {
		if s.Heads[i].Head == s.Head && s.Heads[i].Claim != nil {
			return &s.Heads[i]
		}
	}
	return nil
}

// Query is the part of an address that says what of the session is shown.
func (s *session) Query() string {
	q := url.Values{}
	if s.Leaf != "" {
		q.Set("leaf", s.Leaf)
	} else if s.Head != core.MainHead {
		q.Set("head", s.Head)
	}
	return q.Encode()
}

// open reads the row and the heads of the session that r is about.
func (p *page) open(r *http.Request, c *client.Client, tab string) (*session, core.Dialect, error) {
	id := r.PathValue("id")
	s := &session{Tab: tab, Head: cmp.Or(r.FormValue("head"), core.MainHead), Leaf: r.FormValue("leaf")}
	heads, err := c.Heads(r.Context(), id) // first: its errors are the clearest
	if err != nil {
		return nil, nil, err
	}
	s.Heads, s.More = heads.Heads, heads.More
	if s.Row, err = rowOf(r.Context(), c, core.SessionID(id)); err != nil {
		return nil, nil, err
	}
	d, ok := p.dialects[s.Row.Dialect]
	if !ok {
		return nil, nil, fmt.Errorf("session %s is of dialect %.40q, which this node does not know: %w", id, s.Row.Dialect, core.ErrTooNew)
	}
	return s, d, nil
}

// rowOf returns the row of a session, also of one in the trash.
func rowOf(ctx context.Context, c *client.Client, id core.SessionID) (catalog.Row, error) {
	for _, deleted := range []bool{false, true} {
		list, err := c.List(ctx, catalog.Filter{Prefix: string(id), Deleted: deleted, Sort: catalog.SortCreated, Limit: 50})
		if err != nil {
			return catalog.Row{}, err
		}
		for i := range list.Sessions {
			if list.Sessions[i].ID == id {
				return list.Sessions[i], nil
			}
		}
	}
	info, err := c.Info(ctx, string(id)) // the node's directory lags
	if err != nil {
		return catalog.Row{}, err
	}
	return catalog.Row{ID: id, Dialect: info.Log.Dialect, CWD: info.CWD, Entries: info.EntryCount}, nil
}

// A window is consecutive entries of a path.
type window struct {
	From, To, Total int
	Entries         []*entry
	Cursor          core.Cursor
	first, last     string // ids of the first and the last of them, whether they say something or not
}

// read reads up to limit entries of the path to v.
func read(ctx context.Context, c *client.Client, d core.Dialect, id string, v client.View, from, limit int) (window, error) {
	var w window
	entries := newEntryReader(d, id)
	n := 0
	got, err := c.ReadWindow(ctx, id, v, from, limit, func(line []byte) error {
		if e, err := d.Entry(line); err == nil {
			if n == 0 {
				w.first = e.ID
			}
			w.last = e.ID
		}
		if e := entries.read(line, n); e != nil {
			w.Entries = append(w.Entries, e)
		}
		n++
		return nil
	})
	for _, e := range w.Entries {
		e.Number += got.From
	}
	w.From, w.To, w.Total, w.Cursor = got.From, got.From+n, got.Total, got.Cursor
	return w, err
}

// A transcriptPage shows a path as a conversation: one chunk, and the places of the
// others, which the script loads when they come into view.
type transcriptPage struct {
	*session
	window
	Before, After []chunk
	Entry         string // to show
	Live          string // address of new entries, if a head is shown
}

// A chunk is a part of the path that is not loaded.
type chunk struct {
	From, To int
	Href     string
}

func (p *page) transcript(w http.ResponseWriter, r *http.Request) error {
	c := p.client(r)
	s, d, err := p.open(r, c, "transcript")
	if err != nil {
		return err
	}
	t := transcriptPage{session: s, Entry: r.FormValue("entry")}
	id := string(s.Row.ID)
	if t.window, err = t.choose(r, c, d, id); err != nil {
		return err
	}
	t.Before, t.After = t.others()
	if s.Leaf == "" && t.To == t.Total {
		t.Live = "/sessions/" + url.PathEscape(id) + "/live?head=" + url.QueryEscape(s.Head) + "&at=" + url.QueryEscape(t.position().String())
	}
	return p.show(w, r, http.StatusOK, "transcript.html", &t)
}

// choose reads the entries to begin with: those around an entry, those from a number
// on, or the last ones.
func (t *transcriptPage) choose(r *http.Request, c *client.Client, d core.Dialect, id string) (window, error) {
	v := client.View{Head: t.Head, Leaf: t.Leaf}
	from := -chunkSize
	if n, err := strconv.Atoi(r.FormValue("from")); err == nil && n >= 0 {
		from = n
	}
	if t.Entry == "" {
		return read(r.Context(), c, d, id, v, from, chunkSize)
	}
	// The path to the entry is the beginning of every path that has it.
	at, err := c.ReadWindow(r.Context(), id, client.View{Leaf: t.Entry}, -1, 1, func([]byte) error { return nil })
	if err != nil {
		return window{}, err
	}
	w, err := read(r.Context(), c, d, id, v, max(0, at.From-chunkSize/2), chunkSize)
	if err != nil || w.has(r.Context(), c, d, id, v, at.From, t.Entry) {
		return w, err
	}
	t.Leaf = t.Entry // it is on another branch
	return read(r.Context(), c, d, id, client.View{Leaf: t.Leaf}, -chunkSize, chunkSize)
}

// has reports whether entry is number n of the path.
func (w *window) has(ctx context.Context, c *client.Client, d core.Dialect, id string, v client.View, n int, entry string) bool {
	one, err := read(ctx, c, d, id, v, n, 1)
	return err == nil && one.first == entry && w.From <= n && n < w.To
}

// others returns the parts of the path before and after the window.
func (t *transcriptPage) others() (before, after []chunk) {
	size := max(chunkSize, (t.Total+maxChunks-1)/maxChunks)
	add := func(from, to int) chunk {
		q, _ := url.ParseQuery(t.Query())
		q.Set("from", strconv.Itoa(from))
		return chunk{from, to, "?" + q.Encode()}
	}
	for from := 0; from < t.From; from += size {
		before = append(before, add(from, min(from+size, t.From)))
	}
	for from := t.To; from < t.Total; from += size {
		after = append(after, add(from, min(from+size, t.Total)))
	}
	return before, after
}

// chunk answers with entries alone, without a page around them.
func (p *page) chunk(w http.ResponseWriter, r *http.Request) error {
	c := p.client(r)
	from, err := strconv.Atoi(r.FormValue("from"))
	to, err2 := strconv.Atoi(r.FormValue("to"))
	if err != nil || err2 != nil || from < 0 || to <= from {
		return fmt.Errorf("from and to must be numbers of entries: %w", core.ErrInvalid)
	}
	row, err := rowOf(r.Context(), c, core.SessionID(r.PathValue("id")))
	if err != nil {
		return err
	}
	d := p.dialects[row.Dialect]
	if d == nil {
		return core.ErrTooNew
	}
	got, err := read(r.Context(), c, d, r.PathValue("id"), client.View{Head: r.FormValue("head"), Leaf: r.FormValue("leaf")}, from, min(to-from, 10*chunkSize))
	if err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, "entries", got.Entries)
}

// A position is how far a page that follows a head is.
type position struct {
	cursor core.Cursor
	count  int    // entries of the path
	last   string // id of the last of them
}

func (w *window) position() position { return position{w.Cursor, w.To, w.last} }

// String returns the position as an address or an event has it.
func (p position) String() string {
	return url.Values{"after": {p.cursor.String()}, "count": {strconv.Itoa(p.count)}, "last": {p.last}}.Encode()
}

func parsePosition(text string) (p position, err error) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return p, fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	if p.cursor, err = core.ParseCursor(q.Get("after")); err != nil {
		return p, err
	}
	p.last = q.Get("last")
	if p.count, err = strconv.Atoi(q.Get("count")); err != nil || p.count < 0 {
		return p, fmt.Errorf("count %.20q is not a number of entries: %w", q.Get("count"), core.ErrInvalid)
	}
	return p, nil
}

// live sends the entries that a head gets after a position, rendered. If the head moved
// to another branch, or an entry changed, it tells the page to load again.
func (p *page) live(w http.ResponseWriter, r *http.Request) error {
	at, err := parsePosition(cmp.Or(r.Header.Get("Last-Event-ID"), r.FormValue("at")))
	if err != nil {
		return err
	}
	id, head := r.PathValue("id"), cmp.Or(r.FormValue("head"), core.MainHead)
	row, err := rowOf(r.Context(), p.client(r), core.SessionID(id))
	if err != nil {
		return err
	}
	d := p.dialects[row.Dialect]
	if d == nil {
		return core.ErrTooNew
	}
	return p.stream(w, r, func(ctx context.Context, c *client.Client, send func(kind, id, data string) error) error {
		seen := at.cursor
		return c.Follow(ctx, id, at.cursor, true, func(ev api.Event) error {
			switch {
			case ev.Cursor.Seq <= seen.Seq:
				return nil
			case ev.Kind == core.KindAmend || ev.Kind == core.KindRedact || ev.Kind == core.KindErase || ev.Kind == core.KindDelete:
				return send("reload", "", "")
			case ev.Kind != core.KindAppend && ev.Kind != core.KindHead:
				return p.sendStatus(ctx, c, id, head, send)
			}
			for {
				got, err := read(ctx, c, d, id, client.View{Head: head}, max(0, at.count-1), chunkSize)
				if err != nil {
					return err
				}
				if got.Total < at.count || at.count > 0 && got.first != at.last {
					return send("reload", "", "")
				}
				seen = got.Cursor
				if got.To > at.count {
					if err := p.sendEntries(&got, at.count, send); err != nil {
						return err
					}
					at = got.position()
				}
				if got.To >= got.Total {
					return nil
				}
			}
		})
	})
}

// sendEntries sends the entries of a window from number from on.
func (p *page) sendEntries(w *window, from int, send func(kind, id, data string) error) error {
	shown := w.Entries[:0:0]
	for _, e := range w.Entries {
		if e.Number >= from {
			shown = append(shown, e)
		}
	}
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "entries", shown); err != nil {
		return err
	}
	return send("entries", w.position().String(), out.String())
}

// sendStatus sends who writes.
func (p *page) sendStatus(ctx context.Context, c *client.Client, id, head string, send func(kind, id, data string) error) error {
	heads, err := c.Heads(ctx, id)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "writer", &session{Heads: heads.Heads, Head: head}); err != nil {
		return err
	}
	return send("writer", "", out.String())
}
