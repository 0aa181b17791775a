package durablestreams

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// longPoll answers with what a stream has after a position, or gets within Config.Poll.
func (h *Handler) longPoll(w http.ResponseWriter, r *http.Request, sess *engine.Session, from start) error {
	p, err := h.pageAt(sess, from)
	if err != nil {
		return err
	}
	if p.next == p.from && !p.closed {
		ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Poll)
		defer cancel()
		defer context.AfterFunc(h.cfg.Stopping, cancel)()
		if p, err = h.waitForMore(ctx, sess, p); err != nil {
			return err
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(headerCursor, nextCursor(r.URL.Query().Get("cursor"), h.now()))
	if p.next == p.from {
		p.setHeaders(w)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return h.answerPage(w, r, &p)
}

// waitForMore returns the first page after p that has anything, or the end, or p again if
// ctx ends before.
func (h *Handler) waitForMore(ctx context.Context, sess *engine.Session, p page) (page, error) {
	for z, err := range h.cfg.Follow(ctx, sess.ID(), p.after) {
		if ctx.Err() != nil {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		if err := sess.RefreshTo(ctx, z.Seq, z.Pos); err != nil {
			if ctx.Err() != nil {
				return p, nil
			}
			return p, err
		}
		next, err := h.pageAt(sess, start{at: p.from})
		if err != nil || next.next > next.from || next.closed {
			return next, err
		}
	}
	return p, nil
}

// maxEvents is how long a stream of events lasts. Its reader then connects again, so that
// caches and load balancers can move it.
const maxEvents = time.Minute

// A control is the event after the data: where to continue.
type control struct {
	Next     string `json:"streamNextOffset"`
	Cursor   string `json:"streamCursor,omitempty"`
	UpToDate bool   `json:"upToDate,omitempty"`
	Closed   bool   `json:"streamClosed,omitempty"`
}

// events sends a stream as server-sent events until it is closed.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, sess *engine.Session, from start) error {
	p, err := h.pageAt(sess, from)
	if err != nil {
		return err
	}
	asText := p.config.IsJSON() || strings.HasPrefix(bytestream.MediaType(p.config.ContentType), "text/")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	if !asText {
		w.Header().Set(headerEncoding, "base64")
	}
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithTimeout(r.Context(), maxEvents)
	defer cancel()
	defer context.AfterFunc(h.cfg.Stopping, cancel)()
	out := http.NewResponseController(w)
	cursor := r.URL.Query().Get("cursor")
	for first := true; ; first = false {
		if first || p.next > p.from || p.closed {
			cursor = nextCursor(cursor, h.now())
			b, err := h.event(ctx, &p, cursor, asText)
			if err != nil {
				return nil // the reader continues from its last offset
			}
			if _, err := w.Write(b); err != nil || out.Flush() != nil {
				return nil
			}
			_ = out.SetWriteDeadline(h.now().Add(maxEvents)) // waiting is not slow reading
		}
		if p.closed || ctx.Err() != nil {
			return nil
		}
		if !p.atEnd {
			p, err = h.pageAt(sess, start{at: p.next})
		} else {
			p.from = p.next
			p, err = h.waitForMore(ctx, sess, p)
		}
		if err != nil {
			return nil
		}
	}
}

// event returns the events for a page: its data, if any, and then where to continue.
func (h *Handler) event(ctx context.Context, p *page, cursor string, asText bool) ([]byte, error) {
	var b bytes.Buffer
	if p.next > p.from {
		err := h.withBody(ctx, p, func(body []byte) {
			text := string(body)
			if !asText {
				text = base64.StdEncoding.EncodeToString(body)
			}
			b.WriteString("event: data\n")
			writeData(&b, text)
		})
		if err != nil {
			return nil, err
		}
	}
	c := control{Next: formatOffset(p.next), UpToDate: p.atEnd, Closed: p.closed}
	if !p.closed {
		c.Cursor = cursor
	}
	said, err := json.Marshal(c)
	b.WriteString("event: control\n")
	writeData(&b, string(said))
	return b.Bytes(), err
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// writeData writes a text as the data of an event. No text can begin another field or
// another event.
func writeData(b *bytes.Buffer, text string) {
	for line := range strings.SplitSeq(lineEnds.Replace(text), "\n") {
		b.WriteString("data:")
		if strings.HasPrefix(line, " ") {
			b.WriteByte(' ') // readers drop one
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}
