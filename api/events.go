package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/stream"
)

const (
	// heartbeat is how often a silent stream of events says that it lives.
	heartbeat = 10 * time.Second
	// cursorWait is how long a cursor beyond the end is waited for: the node
	// that gave it may be ahead of this one.
	cursorWait = 3 * time.Second
	// maxFollowers bounds who follows through one node: each takes a
	// subscription and what is on its way to it.
	maxFollowers = 1000
	// writeWait is how long a follower may take to accept one event.
	writeWait = time.Minute
)

// events sends the session's records behind a cursor as server-sent events,
// each with its own cursor as id.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	after, err := afterOf(r)
	if err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if s.followers.Add(1) > maxFollowers {
		s.followers.Add(-1)
		return fmt.Errorf("this node has %d followers already: %w", maxFollowers, core.ErrUnavailable)
	}
	defer s.followers.Add(-1)
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
		return errBroken
	}
	if r.URL.Query().Get("wait") == "false" {
		return s.sendUpTo(ctx, out, sess, pos)
	}
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		out.beat(ctx, cancel)
	}()
	defer func() { // nothing may write to w once this has returned
		cancel()
		select {
		case <-beating:
		case <-time.After(time.Second): // it is stuck in a follower that takes nothing
			_ = out.rc.SetWriteDeadline(time.Now())
			<-beating
		}
	}()
	for rec, err := range stream.Chained(ctx, s.cfg.Log, sess.ID(), pos, s.cfg.Log.Follow(ctx, sess.ID(), pos)) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return out.problem(err)
		}
		if err := s.sendEvent(ctx, out, rec); err != nil {
			if ctx.Err() != nil {
				return nil // the follower goes on from its cursor
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

// position is where in the log the record named by a cursor lies. core.ErrLost
// when the log has no such record.
func (s *Server) position(ctx context.Context, sess *stream.Session, c core.Cursor) (core.Pos, error) {
	if c == (core.Cursor{}) {
		return 0, nil
	}
	have, end, err := s.atLeast(ctx, sess, c.Seq)
	if err != nil {
		return 0, err
	}
	if have == c {
		return end, nil
	}
	for rec, err := range s.cfg.Log.Read(ctx, sess.ID(), 0, end) {
		if err != nil {
			return 0, err
		}
		if rec.Seq == c.Seq && core.CursorOf(rec.Seq, rec.Chain) == c {
			return rec.Pos, nil
		}
	}
	return 0, fmt.Errorf("session %s is at %s and has no record %s: %w", sess.ID(), have, c, core.ErrLost)
}

// atLeast waits a little for the session to have seq records, and returns where
// it is.
func (s *Server) atLeast(ctx context.Context, sess *stream.Session, seq uint64) (c core.Cursor, end core.Pos, err error) {
	deadline := time.Now().Add(cursorWait)
	for {
		_ = sess.View(func(st *core.State) error {
			c, end = st.Cursor(), st.Pos
			return nil
		})
		if c.Seq >= seq || time.Now().After(deadline) {
			return c, end, nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return c, end, err
		}
		if err := sess.Refresh(ctx); err != nil {
			return c, end, err
		}
	}
}

// sendUpTo sends the records behind pos that the session has now.
func (s *Server) sendUpTo(ctx context.Context, out *eventWriter, sess *stream.Session, pos core.Pos) error {
	var end core.Pos
	_ = sess.View(func(st *core.State) error {
		end = st.Pos
		return nil
	})
	for rec, err := range stream.Chained(ctx, s.cfg.Log, sess.ID(), pos, s.cfg.Log.Read(ctx, sess.ID(), pos, end)) {
		if ctx.Err() != nil {
			return errBroken // an end would say that these were all
		}
		if err != nil {
			return out.problem(err)
		}
		if err := s.sendEvent(ctx, out, rec); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) sendEvent(ctx context.Context, out *eventWriter, rec *core.Record) error {
	// A large event is several copies of its record for as long as it takes to
	// send: only so many at a time.
	release, err := s.large.take(ctx, int64(len(rec.Body)))
	if err != nil {
		return errBroken
	}
	defer release()
	ev, err := s.eventOf(ctx, rec)
	if ctx.Err() != nil {
		return errBroken
	}
	if err != nil {
		return out.problem(err)
	}
	data, err := marshal(ev)
	if err != nil {
		return out.problem(err)
	}
	if out.write(fmt.Sprintf("id: %s\nevent: %s\ndata: ", ev.Cursor, ev.Kind), string(data), "\n\n") != nil {
		return errBroken
	}
	return nil
}

// eventOf is a record as a follower sees it.
func (s *Server) eventOf(ctx context.Context, rec *core.Record) (Event, error) {
	ev := Event{
		Seq: rec.Seq, Cursor: core.CursorOf(rec.Seq, rec.Chain), Kind: rec.Kind,
		Head: rec.Head, Writer: rec.Writer, Epoch: rec.Epoch, Time: rec.Time,
	}
	switch rec.Kind {
	case core.KindOpen, core.KindAppend, core.KindAmend:
	default:
		if json.Valid(rec.Body) {
			ev.Body = rec.Body
		}
		return ev, nil
	}
	lines := bytes.Split(rec.Body, []byte("\n"))
	if rec.Kind == core.KindOpen {
		lines = lines[1:] // the origin is ours, not the agent's
	}
	for _, line := range lines {
		whole, err := s.cfg.Sessions.Inline(ctx, line)
		if err != nil {
			return ev, err
		}
		ev.Entries = append(ev.Entries, whole)
	}
	return ev, nil
}

// An eventWriter writes events, and signs of life between them.
type eventWriter struct {
	mu sync.Mutex
	w  io.Writer
	rc *http.ResponseController
}

// write sends texts at once. A follower that does not take them in time is
// given up.
func (e *eventWriter) write(texts ...string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.rc.SetWriteDeadline(time.Now().Add(writeWait)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	for _, text := range texts {
		if _, err := io.WriteString(e.w, text); err != nil {
			return err
		}
	}
	return e.rc.Flush()
}

// problem ends the events with an error that the follower can read.
func (e *eventWriter) problem(err error) error {
	data, _ := json.Marshal(detailOf(err))
	_ = e.write(fmt.Sprintf("event: problem\ndata: %s\n\n", data))
	return nil
}

// beat sends signs of life until ctx ends, and gives up when nobody takes them.
func (e *eventWriter) beat(ctx context.Context, giveUp context.CancelFunc) {
	t := time.NewTicker(heartbeat)
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
