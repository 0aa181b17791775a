package durablestreams

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// An inheritance is what a fork begins with. Its lines are copies without the sequence
// numbers of producers, which belong to the source.
type inheritance struct {
	parents []core.Lineage
	lines   [][]byte
}

// inherit returns what a fork takes from its source, and completes c. The source notes the
// fork before it is made, so a source that is deleted meanwhile is not forked. A request
// with a body that cannot be stored leaves no note.
func (h *Handler) inherit(ctx context.Context, q *createRequest, c *bytestream.Config) (inheritance, error) {
	f := q.fork
	for try := 1; ; try++ {
		src, err := h.find(ctx, f.path, h.cfg.Open)
		switch {
		case err != nil:
			return inheritance{}, err
		case src.gone:
			return inheritance{}, refuse(http.StatusConflict, "stream %.200q is deleted and cannot be forked", f.path)
		case src.sess == nil:
			return inheritance{}, errNoStream(f.path)
		}
		if err := h.checkBody(q, src.sess); err != nil {
			return inheritance{}, err
		}
		own := *c
		var in inheritance
		var es []core.Entry
		err = h.noteIn(ctx, src.sess, func(st *core.State, s *stream) (_ *bytestream.Line, err error) {
			es, err = f.take(st, s, &own)
			in.parents = []core.Lineage{{Session: st.ID, Cursor: st.Cursor(), Kind: string(lineage.Fork)}}
			return &bytestream.Line{Type: bytestream.TypeFork, Fork: c.ID}, err
		})
		if isRaced(err) && try < maxTries {
			continue
		}
		if err == nil {
			in.lines, err = h.copied(ctx, es, own.From.Sub, own.IsJSON())
		}
		*c = own
		return in, err
	}
}

// checkBody returns why the body of a request cannot be stored in a fork of src, or nil.
func (h *Handler) checkBody(q *createRequest, src *engine.Session) error {
	contentType := q.contentType
	if len(q.body) == 0 {
		return nil
	}
	if contentType == "" {
		err := h.view(src, func(_ *core.State, s *stream) error {
			contentType = s.config.ContentType
			return nil
		})
		if err != nil {
			return err
		}
	}
	_, err := h.bodyOf(q, contentType)
	return err
}

// take returns the entries of a source that f inherits, and completes c. If f names a part
// of an append, that is the last entry.
func (f *forkRequest) take(st *core.State, s *stream, c *bytestream.Config) ([]core.Entry, error) {
	switch {
	case c.ContentType == "":
		c.ContentType = s.config.ContentType
	case !sameType(c.ContentType, s.config.ContentType):
		return nil, refuse(http.StatusConflict, "the source has content type %s", s.config.ContentType)
	}
	if c.TTL == nil && c.ExpiresAt == "" {
		c.TTL, c.ExpiresAt = s.config.TTL, s.config.ExpiresAt
	}
	at := s.state.Tail
	if f.offset != nil {
		at = *f.offset
	}
	if !s.state.IsBoundary(at) {
		return nil, refuse(http.StatusBadRequest, "%s %s is not the end of an append of the source", headerForkOffset, formatOffset(at))
	}
	c.From = &bytestream.Fork{Path: f.path, Session: string(st.ID), Offset: at, Sub: f.sub}
	n := s.state.After(at)
	if f.sub > 0 {
		if n == len(st.Entries) {
			return nil, refuse(http.StatusBadRequest, "%s is beyond the end of the source", headerForkSub)
		}
		n++
		if err := checkSub(st.Entries[n-1], f.sub); err != nil {
			return nil, err
		}
	}
	return st.Entries[:n], nil
}

// checkSub refuses a number of bytes or values that an append does not have.
func checkSub(e core.Entry, sub int64) error {
	l, err := bytestream.ReadLine(e.Line)
	if err != nil {
		return err
	}
	have := l.Length
	if l.JSON != nil {
		have = int64(len(l.JSON))
	}
	if sub > have {
		return refuse(http.StatusBadRequest, "%s %d is beyond the append, which has %d", headerForkSub, sub, have)
	}
	return nil
}

// copied returns the appends among es as lines of another stream. Of the last one it takes
// sub bytes or values, unless sub is 0.
func (h *Handler) copied(ctx context.Context, es []core.Entry, sub int64, isJSON bool) ([][]byte, error) {
	var size int64
	for i := range es {
		size += int64(len(es[i].Line))
	}
	if err := memory.Grow(ctx, 2*size); err != nil {
		return nil, err
	}
	var lines [][]byte
	for i := range es {
		if es[i].Type != bytestream.TypeAppend {
			continue
		}
		line, err := h.cfg.Sessions.Inline(ctx, es[i].Line)
		if err != nil {
			return nil, err
		}
		l, err := bytestream.ReadLine(line)
		if err != nil {
			return nil, err
		}
		if sub > 0 && i == len(es)-1 {
			l = part(&l, sub, isJSON)
		}
		l.Seq, l.Producer, l.Closed = nil, nil, false
		lines = append(lines, h.stamped(l))
	}
	return lines, nil
}

// part returns the beginning of an append.
func part(l *bytestream.Line, sub int64, isJSON bool) bytestream.Line {
	var p bytestream.Line
	if isJSON {
		p = bytestream.NewValues(append([]json.RawMessage{}, l.JSON[:min(sub, int64(len(l.JSON)))]...))
	} else {
		body := l.Body()
		p = bytestream.NewAppend(body[:min(sub, int64(len(body)))])
	}
	p.Time = l.Time
	return p
}
