package durablestreams

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// bodyLine returns the line for a body, nil for none: an empty body, or no values.
func bodyLine(contentType string, body []byte) (*bytestream.Line, error) {
	if len(body) == 0 {
		return nil, nil
	}
	if !bytestream.IsJSON(contentType) {
		l := bytestream.NewAppend(body)
		return &l, nil
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, refuse(http.StatusBadRequest, "the body is not valid JSON")
	}
	values := []json.RawMessage{body}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		values = nil // or Unmarshal would write into the body
		if err := json.Unmarshal(body, &values); err != nil {
			return nil, refuse(http.StatusBadRequest, "the body is not valid JSON: %v", err)
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	for i, v := range values {
		var b bytes.Buffer
		if err := json.Compact(&b, v); err != nil {
			return nil, refuse(http.StatusBadRequest, "the body is not valid JSON: %v", err)
		}
		values[i] = b.Bytes()
	}
	l := bytestream.NewValues(values)
	return &l, nil
}

// stamped returns l as a line with an id and the time.
func (h *Handler) stamped(l bytestream.Line) []byte {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	l.ID = bytestream.Dialect{}.EntryID(random)
	if l.Time == "" {
		l.Time = stamp(h.now())
	}
	return l.Encode()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// noteIn appends the line that f returns for the state of a stream, nil for none, unless
// another record comes first.
func (h *Handler) noteIn(ctx context.Context, sess *engine.Session, f func(*core.State, *stream) (*bytestream.Line, error)) error {
	var at core.Cursor
	var l *bytestream.Line
	err := h.view(sess, func(st *core.State, s *stream) (err error) {
		at = st.Cursor()
		l, err = f(st, s)
		return err
	})
	if err != nil || l == nil {
		return err
	}
	_, err = sess.Append(ctx, engine.Append{After: &at, Exact: true, Lines: [][]byte{h.stamped(*l)}})
	return err
}

// noteAgain is noteIn that decides again if another record came first.
func (h *Handler) noteAgain(ctx context.Context, sess *engine.Session, f func(*core.State, *stream) (*bytestream.Line, error)) error {
	for try := 1; ; try++ {
		err := h.noteIn(ctx, sess, f)
		if !isRaced(err) || try >= maxTries {
			return err
		}
		if err := sess.Refresh(ctx); err != nil {
			return err
		}
	}
}

// isRaced reports whether another writer came first.
func isRaced(err error) bool {
	_, ok := errors.AsType[*core.ConflictError](err)
	return ok
}

// end deletes a stream that has the state in which it was found, and moves its session to
// the trash.
func (h *Handler) end(ctx context.Context, sess *engine.Session, n core.Notice) error {
	held := false
	err := h.noteIn(ctx, sess, func(st *core.State, s *stream) (*bytestream.Line, error) {
		held = st.LegalHold != nil
		if s.state.Deleted {
			return nil, errNoStream(s.config.Path)
		}
		return &bytestream.Line{Type: bytestream.TypeDelete}, nil
	})
	if err != nil || held {
		return err
	}
	return h.cfg.Delete(ctx, sess, n)
}

// maxTries is how often a request that another writer keeps preceding is decided again.
const maxTries = 100

func (h *Handler) delete(w http.ResponseWriter, r *http.Request, path string) error {
	for try := 1; ; try++ {
		sess, err := h.live(r.Context(), path)
		if err != nil {
			return err
		}
		if err = sess.View((*core.State).CheckRemovable); err == nil {
			err = h.end(r.Context(), sess, core.Notice{Why: "the stream was deleted"})
		}
		if isRaced(err) && try < maxTries {
			continue
		}
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// checkSize returns core.ErrTooLarge if l makes a line above the limit.
func (h *Handler) checkSize(l *bytestream.Line) error {
	const escaped, rest = 6, 4 << 10 // bytes of a line for one of a text, and besides it
	if l == nil || escaped*l.Length+rest <= int64(h.cfg.MaxLine) {
		return nil
	}
	if n := len(l.Encode()) + rest; n > h.cfg.MaxLine {
		return fmt.Errorf("the body makes a line of %d bytes, %d are allowed (limits.line): %w", n, h.cfg.MaxLine, core.ErrTooLarge)
	}
	return nil
}
