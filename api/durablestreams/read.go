package durablestreams

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// maxPage is how many bytes an answer has, unless a single append is larger.
const maxPage = 1 << 20

// A page is a part of a stream.
type page struct {
	config     bytestream.Config
	from, next int64
	atEnd      bool // the stream has nothing after next
	closed     bool // and never will
	after      core.Pos
	lines      [][]byte
	redacted   int // entries of the session that were replaced
}

// live returns the stream at a path, at least as new as the leader has it.
func (h *Handler) live(ctx context.Context, path string) (*engine.Session, error) {
	f, err := h.find(ctx, path, h.cfg.Open)
	switch {
	case err != nil:
		return nil, err
	case f.gone:
		return nil, errGone(path)
	case f.sess == nil:
		return nil, errNoStream(path)
	}
	return f.sess, nil
}

// pageAt returns what a stream has at its reader's position.
func (h *Handler) pageAt(sess *engine.Session, from start) (p page, err error) {
	err = h.view(sess, func(st *core.State, s *stream) error {
		if s.state.Deleted || st.Deleted != nil || h.isExpired(st.ID, s) {
			return errNoStream(s.config.Path)
		}
		p = page{config: s.config, from: from.at, closed: s.state.Closed, after: st.Pos, redacted: len(st.Redacted)}
		if from.now || p.from > s.state.Tail {
			p.from = s.state.Tail
		}
		p.next = p.from
		for i := s.state.After(p.from); i < s.state.Folded() && p.next-p.from < maxPage; i++ {
			p.next = s.state.End(i)
			if st.Entries[i].Type == bytestream.TypeAppend {
				p.lines = append(p.lines, st.Entries[i].Line)
			}
		}
		p.atEnd = p.next == s.state.Tail
		p.closed = p.closed && p.atEnd
		return nil
	})
	return p, err
}

// withBody calls f with the bytes of a page: for JSON, an array of the values.
func (h *Handler) withBody(ctx context.Context, p *page, f func([]byte)) error {
	lease := h.cfg.Sent.Lease()
	defer lease.Release()
	if err := lease.Grow(ctx, bodyWork*(p.next-p.from)); err != nil {
		return err
	}
	body, err := h.body(memory.With(ctx, lease), p)
	if err == nil {
		f(body)
	}
	return err
}

// bodyWork is how many bytes of memory an answer takes for each of its bytes.
const bodyWork = 4

func (h *Handler) body(ctx context.Context, p *page) ([]byte, error) {
	var out bytes.Buffer
	isJSON := p.config.IsJSON()
	values := 0
	for _, line := range p.lines {
		line, err := h.cfg.Sessions.Inline(ctx, line)
		if err != nil {
			return nil, err
		}
		l, err := bytestream.ReadLine(line)
		if err != nil {
			return nil, err
		}
		if !isJSON {
			out.Write(l.Body())
			continue
		}
		for _, v := range l.JSON {
			writeValue(&out, v, values == 0)
			values++
		}
	}
	if !isJSON {
		return out.Bytes(), nil
	}
	if values == 0 {
		return []byte("[]"), nil
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

func writeValue(out *bytes.Buffer, v json.RawMessage, first bool) {
	if first {
		out.WriteByte('[')
	} else {
		out.WriteByte(',')
	}
	out.Write(v)
}

func (h *Handler) read(w http.ResponseWriter, r *http.Request, path string) error {
	from, err := startOf(r.URL.Query())
	if err != nil {
		return err
	}
	live := r.URL.Query().Get("live")
	switch {
	case live != "" && live != "long-poll" && live != "sse":
		return refuse(http.StatusBadRequest, "live=%.20q: use long-poll or sse", live)
	case live != "" && !from.given:
		return refuse(http.StatusBadRequest, "live=%s requires an offset", live)
	}
	sess, err := h.live(r.Context(), path)
	if err != nil {
		return err
	}
	h.touchLater(sess)
	switch live {
	case "long-poll":
		return h.longPoll(w, r, sess, from)
	case "sse":
		return h.events(w, r, sess, from)
	}
	p, err := h.pageAt(sess, from)
	if err != nil {
		return err
	}
	if from.now {
		w.Header().Set("Cache-Control", "no-store")
		return h.answerPage(w, r, &p)
	}
	w.Header().Set("Cache-Control", "private, no-cache")
	tag := p.tag()
	w.Header().Set("ETag", tag)
	if matchesTag(r, tag) {
		p.setHeaders(w)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return h.answerPage(w, r, &p)
}

// answerPage answers 200 with a page.
func (h *Handler) answerPage(w http.ResponseWriter, r *http.Request, p *page) error {
	return h.withBody(r.Context(), p, func(body []byte) {
		p.setHeaders(w)
		w.Header().Set("Content-Type", p.config.ContentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body) // the reader may have left
	})
}

func (p *page) setHeaders(w http.ResponseWriter) {
	w.Header().Set(headerNext, formatOffset(p.next))
	w.Header().Set(headerStream, p.stream())
	if p.atEnd {
		w.Header().Set(headerUpToDate, "true")
	}
	if p.closed {
		w.Header().Set(headerClosed, "true")
	}
}

// tag is the page's ETag. Bytes at an offset change only by a
// redaction; whether more follow does.
func (p *page) tag() string {
	closed := ""
	if p.closed {
		closed = "-closed"
	}
	return fmt.Sprintf(`"%s-%d-%d-%d%s"`, p.stream(), p.from, p.next, p.redacted, closed)
}

// stream names the stream that the page is of. Another one at its path has another name.
func (p *page) stream() string { return p.config.ID + "@" + p.config.Time }

func matchesTag(r *http.Request, tag string) bool {
	for have := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		have = strings.TrimPrefix(strings.TrimSpace(have), "W/")
		if have == tag || have == "*" {
			return true
		}
	}
	return false
}

func (h *Handler) head(w http.ResponseWriter, r *http.Request, path string) error {
	sess, err := h.live(r.Context(), path)
	if err != nil {
		return err
	}
	p, err := h.pageAt(sess, start{now: true})
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", p.config.ContentType)
	w.Header().Set(headerNext, formatOffset(p.next))
	if p.closed {
		w.Header().Set(headerClosed, "true")
	}
	if p.config.TTL != nil {
		w.Header().Set(headerTTL, strconv.FormatInt(*p.config.TTL, 10))
	}
	if p.config.ExpiresAt != "" {
		w.Header().Set(headerExpires, p.config.ExpiresAt)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
