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
	chunkSize = 100 // entries that are loaded at a time
	maxParts  = 100 // into which a part that is not loaded is divided
)

// A session is what every page about one session shows at its top.
type session struct {
	Row    catalog.Row
	Base   string // address of its pages
	Tab    string
	Heads  []api.HeadInfo
	More   int    // heads that are left out
	Head   string // that is shown
	Leaf   string // that is shown in place of a head's
	Shared bool   // by a share link, which has no other pages
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
func (s *session) Query() string { return s.query().Encode() }

func (s *session) query() url.Values {
	q := url.Values{}
	if s.Leaf != "" {
		q.Set("leaf", s.Leaf)
	} else if s.Head != core.MainHead {
		q.Set("head", s.Head)
	}
	return q
}

// open reads what the top of a page about a session shows.
func (p *page) open(r *http.Request, tab string) (*session, *source, error) {
	src, err := p.source(r)
	if err != nil {
		return nil, nil, err
	}
	v := src.view(r)
	s := &session{Row: src.row, Base: src.base, Tab: tab, Head: cmp.Or(v.Head, core.MainHead), Leaf: v.Leaf, Shared: src.id == ""}
	if s.Shared {
		return s, src, nil
	}
	heads, err := src.Heads(r.Context(), src.id)
	s.Heads, s.More = heads.Heads, heads.More
	return s, src, err
}

// A transcriptPage shows a path as a conversation: one chunk, and placeholders for the
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
	s, src, err := p.open(r, "transcript")
	if err != nil {
		return err
	}
	t := transcriptPage{session: s, Entry: r.FormValue("entry")}
	if t.window, err = t.choose(r, src); err != nil {
		return err
	}
	t.Before, t.After = t.others()
	if s.Leaf == "" && t.To == t.Total {
		t.Live = s.Base + "/live?at=" + url.QueryEscape(position{t.Cursor, t.To, t.last}.String())
		if !s.Shared {
			t.Live += "&head=" + url.QueryEscape(s.Head)
		}
	}
	return p.show(w, http.StatusOK, "transcript.html", &t)
}

// choose reads the entries to begin with: those around an entry, those from a number
// on, or the last ones.
func (t *transcriptPage) choose(r *http.Request, src *source) (window, error) {
	ctx, v := r.Context(), src.view(r)
	from := -chunkSize
	if n, err := strconv.Atoi(r.FormValue("from")); err == nil && n >= 0 {
		from = n
	}
	if t.Entry == "" {
		return src.read(ctx, v, from, chunkSize)
	}
	at, err := src.number(ctx, t.Entry)
	if err != nil {
		return window{}, err
	}
	w, err := src.read(ctx, v, max(0, at-chunkSize/2), chunkSize)
	if err != nil {
		return w, err
	}
	if one, err := src.read(ctx, v, at, 1); err == nil && one.first == t.Entry && at < w.To {
		return w, nil
	}
	t.Leaf = t.Entry // it is on another branch
	return src.read(ctx, client.View{Leaf: t.Leaf}, -chunkSize, chunkSize)
}

// others returns the parts of the path before and after the window, those next to it in
// the size in which they are loaded.
func (t *transcriptPage) others() (before, after []chunk) {
	q := t.query()
	before, after = parts(q, 0, t.From), parts(q, t.To, t.Total)
	if n := len(before) - 1; n >= 0 && before[n].To-before[n].From > chunkSize {
		before = append(before[:n], parts(q, before[n].From, before[n].To)...)
	}
	if len(after) > 0 && after[0].To-after[0].From > chunkSize {
		after = append(parts(q, after[0].From, after[0].To), after[1:]...)
	}
	return before, after
}

// parts divides entries into at most maxParts parts. A part of more than chunkSize
// entries is divided when it comes into view.
func parts(q url.Values, from, to int) (out []chunk) {
	size := chunkSize
	for to-from > size*maxParts {
		size *= maxParts
	}
	for ; from < to; from += size {
		q.Set("from", strconv.Itoa(from))
		out = append(out, chunk{from, min(from+size, to), "?" + q.Encode()})
	}
	return out
}

// maxNumber bounds the numbers of entries in a request.
const maxNumber = 1 << 40

// chunk answers with the entries of a part, or, if it is large, with its parts.
func (p *page) chunk(w http.ResponseWriter, r *http.Request) error {
	from, err := strconv.Atoi(r.FormValue("from"))
	to, err2 := strconv.Atoi(r.FormValue("to"))
	if err != nil || err2 != nil || from < 0 || to <= from || to > maxNumber {
		return fmt.Errorf("from and to must be numbers of entries, at most %d: %w", maxNumber, core.ErrInvalid)
	}
	if to-from > chunkSize {
		src, err := p.source(r)
		if err != nil {
			return err
		}
		s := session{Head: cmp.Or(src.view(r).Head, core.MainHead), Leaf: src.view(r).Leaf}
		return p.show(w, http.StatusOK, "chunks", parts(s.query(), from, to))
	}
	src, err := p.partSource(r)
	if err != nil {
		return err
	}
	got, err := src.read(r.Context(), src.view(r), from, to-from)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "entries", got.Entries)
}

// A position says which records and entries of a head a page has.
type position struct {
	cursor core.Cursor
	count  int    // entries of the path
	last   string // id of the last of them
}

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

// live sends new entries of a head, rendered, after a position. If the head moves to
// another branch, or an entry changes, it tells the page to reload.
func (p *page) live(w http.ResponseWriter, r *http.Request) error {
	at, err := parsePosition(lastID(r))
	if err != nil {
		return err
	}
	src, err := p.source(r)
	if err != nil {
		return err
	}
	v := src.view(r)
	return p.stream(w, r, func(ctx context.Context, c *client.Client, send func(kind, id, data string) error) error {
		src.Client = c
		read := at.cursor // of the last record whose entries were read, maybe before its event
		return c.Follow(ctx, src.id, at.cursor, true, func(ev api.Event) error {
			switch ev.Kind {
			case core.KindAmend, core.KindRedact, core.KindErase, core.KindDelete:
				return send("reload", "", "")
			case core.KindAppend, core.KindHead:
			default:
				return p.sendStatus(ctx, src, v.Head, send)
			}
			if ev.Cursor.Seq <= read.Seq {
				return nil
			}
			for {
				known := min(at.count, 1) // the last entry that the page has
				got, err := src.readAfter(ctx, v, at.count-known, chunkSize, known)
				if err != nil {
					return err
				}
				if got.Total < at.count || at.count > 0 && got.first != at.last {
					return send("reload", "", "")
				}
				read = got.Cursor
				if got.To > at.count {
					at = position{ev.Cursor, got.To, got.last} // later events may be a redaction
					if err := p.sendEntries(&got, at, send); err != nil {
						return err
					}
				}
				if got.To >= got.Total {
					return nil
				}
			}
		})
	})
}

// sendEntries sends the entries of a window, after which the page is at a position.
func (p *page) sendEntries(w *window, at position, send func(kind, id, data string) error) error {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "entries", w.Entries); err != nil {
		return err
	}
	return send("entries", at.String(), out.String())
}

// sendStatus sends the name of the active writer.
func (p *page) sendStatus(ctx context.Context, src *source, head string, send func(kind, id, data string) error) error {
	if src.id == "" {
		return nil
	}
	heads, err := src.Heads(ctx, src.id)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, "writer", &session{Heads: heads.Heads, Head: head}); err != nil {
		return err
	}
	return send("writer", "", out.String())
}
