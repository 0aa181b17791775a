package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

const (
	// keepAliveInterval is the time between keep-alive comments in a stream of
	// events.
	keepAliveInterval = 10 * time.Second
	// writeTimeout is how long a follower may take to accept one event.
	writeTimeout = time.Minute
)

// events sends the session's records after a cursor as server-sent events, with
// the cursor of each as id.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	return s.follow(w, r, sess, func(ctx context.Context, out *eventWriter, rec *storage.Lazy) error {
		return s.sendEvent(ctx, out, rec, eventLabel{})
	})
}

// A sender sends a record to a follower.
type sender func(context.Context, *eventWriter, *storage.Lazy) error

// follow calls send with the session's records after a cursor, until the caller leaves.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, sess *engine.Session, send sender) error {
	after, err := afterOf(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.drain, cancel)()
	pos, err := s.position(ctx, sess, after)
	if s.drain.Err() != nil { // the follower asks again, here or elsewhere
		return fmt.Errorf("this node is stopping: %w", core.ErrUnavailable)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{w: w, rc: http.NewResponseController(w)}
	if err := out.write(": following " + string(sess.ID()) + "\n\n"); err != nil {
		return errAborted
	}
	if r.URL.Query().Get("wait") == "false" {
		return s.sendUpTo(ctx, out, sess, pos, after, send)
	}
	defer out.keepAlive(ctx, cancel)() // nothing may write to w once this has returned
	for rec, err := range engine.ChainedLazily(ctx, s.cfg.Log, sess.ID(), pos, after, s.cfg.Log.FollowLazily(ctx, sess.ID(), pos)) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return out.problem(err)
		}
		if err := send(ctx, out, rec); err != nil {
			if ctx.Err() != nil {
				return nil // the follower continues from its cursor
			}
			return err
		}
	}
	return nil
}

func afterOf(r *http.Request) (core.Cursor, error) {
	c := r.Header.Get("Last-Event-ID")
	if c == "" {
		c = r.URL.Query().Get("after")
	}
	return core.ParseCursor(c)
}

// position returns the position of the record that a cursor names, or
// core.ErrLost if the log has no such record.
func (s *Server) position(ctx context.Context, sess *engine.Session, c core.Cursor) (pos core.Pos, err error) {
	if c == (core.Cursor{}) {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cursorTimeout)
	defer cancel()
	return sess.Position(ctx, c)
}

// sendUpTo calls send with the records after pos, whose cursor is after, up to the
// session's current end.
func (s *Server) sendUpTo(ctx context.Context, out *eventWriter, sess *engine.Session, pos core.Pos, after core.Cursor, send sender) error {
	var end core.Pos
	_ = sess.View(func(st *core.State) error {
		end = st.Pos
		return nil
	})
	for rec, err := range engine.ChainedLazily(ctx, s.cfg.Log, sess.ID(), pos, after, engine.ScanTo(ctx, s.cfg.Log, sess.ID(), pos, end)) {
		if ctx.Err() != nil {
			return errAborted // an end would say that these were all
		}
		if err != nil {
			return out.problem(err)
		}
		if err := send(ctx, out, rec); err != nil {
			return err
		}
	}
	return nil
}

// An eventLabel is how an event of a stream of several sessions is labelled.
type eventLabel struct {
	session core.SessionID
	id      string // default the record's cursor
}

// sendEvent sends a record line by line. Of a large record, memory holds the
// body, which its followers share, and one line.
func (s *Server) sendEvent(ctx context.Context, out *eventWriter, z *storage.Lazy, as eventLabel) error {
	body, release, err := s.bodies.take(ctx, z)
	if errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return errAborted
	}
	if err != nil {
		return out.problem(err)
	}
	defer release()
	ev := api.Event{
		Session: as.session, Seq: z.Seq, Cursor: core.CursorOf(z.Seq, z.Chain), Kind: z.Kind,
		Head: z.Head, Writer: z.Writer, Epoch: z.Epoch, Time: z.Time,
	}
	var lines [][]byte
	switch {
	case z.Kind == core.KindOpen || z.Kind == core.KindAppend || z.Kind == core.KindAmend:
		lines = bytes.Split(body, []byte("\n"))
		if z.Kind == core.KindOpen {
			lines = lines[1:] // the origin is not a line of the agent
			if len(lines) > 0 {
				lines[0] = image.Escape(lines[0]) // the header
			}
		}
	case z.Kind == core.KindRedact:
		lines = bytes.Split(body, []byte("\n"))
		ev.Body, lines = lines[0], lines[1:] // the notice, then entries
	case json.Valid(body):
		ev.Body = body
	}
	// Check before sending: an error cannot be sent in the middle of an event.
	for _, line := range lines {
		if !bytes.Contains(line, []byte("blob:")) {
			continue
		}
		if err := s.withEventLine(ctx, line, func([]byte) error { return nil }); ctx.Err() != nil {
			return errAborted
		} else if err != nil {
			return out.problem(err)
		}
	}
	if out.event(cmp.Or(as.id, ev.Cursor.String()), ev, func(write func(...string) error) error { return s.sendLines(ctx, lines, write) }) != nil {
		return errAborted
	}
	return nil
}

// withEventLine calls f with a line with its images, byte-identical if it fits on one
// line of an event.
func (s *Server) withEventLine(ctx context.Context, line []byte, f func([]byte) error) error {
	lease := s.limiters.sent.Lease()
	defer lease.Release()
	whole, err := s.inline(ctx, lease, line)
	if err != nil {
		return err
	}
	if bytes.IndexByte(whole, '\r') < 0 && bytes.IndexByte(whole, '\n') < 0 && json.Valid(whole) {
		return f(whole)
	}
	if err := lease.Grow(ctx, int64(len(whole))); err != nil {
		return err
	}
	if whole, err = marshal(json.RawMessage(whole)); err != nil {
		return err
	}
	return f(whole)
}

// inline returns a line with its images, which count as lease.
func (s *Server) inline(ctx context.Context, lease *memory.Lease, line []byte) ([]byte, error) {
	whole, err := s.cfg.Sessions.Inline(memory.With(ctx, lease), line)
	if err == nil && len(whole) != len(line) {
		err = lease.Grow(ctx, int64(len(whole)))
	}
	return whole, err
}

func (s *Server) sendLines(ctx context.Context, lines [][]byte, write func(...string) error) error {
	for i, line := range lines {
		before := ","
		if i == 0 {
			before = `,"entries":[`
		}
		err := s.withEventLine(ctx, line, func(whole []byte) error { return sendLine(before, whole, write) })
		if err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return write("]")
}

func sendLine(before string, line []byte, write func(...string) error) error {
	if err := write(before); err != nil {
		return err
	}
	for len(line) > 0 {
		piece := line[:min(len(line), 64<<10)]
		if err := write(string(piece)); err != nil {
			return err
		}
		line = line[len(piece):]
	}
	return nil
}

// An eventWriter writes events and keep-alive comments.
type eventWriter struct {
	mu sync.Mutex
	w  io.Writer
	rc *http.ResponseController
}

// write sends texts at once. It fails if the follower does not accept them in
// time.
func (e *eventWriter) write(texts ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.setDeadline(); err != nil {
		return err
	}
	if err := e.writeAll(texts...); err != nil {
		return err
	}
	return e.rc.Flush()
}

// event sends ev, whose entries rest writes in pieces. writeTimeout applies to
// the whole event.
func (e *eventWriter) event(id string, ev api.Event, rest func(write func(...string) error) error) error {
	head, err := marshal(ev)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.setDeadline(); err != nil {
		return err
	}
	open := strings.TrimSuffix(string(head), "}")
	if err := e.writeAll(fmt.Sprintf("id: %s\nevent: %s\ndata: ", id, ev.Kind), open); err != nil {
		return err
	}
	if err := rest(e.writeAll); err != nil {
		return err
	}
	if err := e.writeAll("}\n\n"); err != nil {
		return err
	}
	return e.rc.Flush()
}

// setDeadline starts the time in which the follower must accept the next event.
func (e *eventWriter) setDeadline() error {
	err := e.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

func (e *eventWriter) writeAll(texts ...string) error {
	for _, text := range texts {
		if _, err := io.WriteString(e.w, text); err != nil {
			return err
		}
	}
	return nil
}

// problem ends the stream with an error that the follower can read.
func (e *eventWriter) problem(err error) error {
	data, _ := json.Marshal(detailOf(err))
	_ = e.write(fmt.Sprintf("event: problem\ndata: %s\n\n", data))
	return nil
}

// sendKeepAlives runs until ctx ends. It calls giveUp if the follower does not
// read.
func (e *eventWriter) sendKeepAlives(ctx context.Context, giveUp context.CancelFunc) {
	t := time.NewTicker(keepAliveInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if e.write(": \n\n") != nil {
				giveUp()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
