package durablestreams

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/bytestream"
	"github.com/sesslog/sesslog/engine"
)

// A touch is the last use of a stream with a time to live. Uses are kept in memory and
// noted in the log once per tenth of that time, so that other nodes and later starts of
// this one know them.
type touch struct {
	at    time.Time
	ttl   time.Duration // of the stream
	timer *time.Timer   // notes it
	pause time.Duration // before the next attempt, if one failed
}

// maxNoteDelay is how long a use is in memory only, and the longest pause between attempts
// to store it.
const maxNoteDelay = time.Minute

// touchLater notes that a stream was used, if that extends its life.
func (h *Handler) touchLater(sess *engine.Session) {
	var ttl time.Duration
	_ = h.view(sess, func(_ *core.State, s *stream) error {
		if s.config.TTL != nil {
			ttl = time.Duration(*s.config.TTL) * time.Second
		}
		return nil
	})
	if ttl == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.touches[sess.ID()]
	if t == nil {
		t = &touch{ttl: ttl}
		h.touches[sess.ID()] = t
	}
	t.at = h.now()
	if t.timer == nil {
		id := sess.ID()
		t.timer = time.AfterFunc(t.delay(), func() { h.noteTouch(id) })
	}
}

// delay returns how long a use is in memory before it is stored.
func (t *touch) delay() time.Duration { return min(t.ttl/10, maxNoteDelay) }

// lastTouch returns the last use that may not be in the log yet.
func (h *Handler) lastTouch(id core.SessionID) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.touches[id]; t != nil {
		return t.at
	}
	return time.Time{}
}

// noteTouch stores the last use of a stream, and forgets it. A use that cannot be stored
// counts on this node only, until it stops or the stream would have ended.
func (h *Handler) noteTouch(id core.SessionID) {
	at := h.lastTouch(id)
	ctx, cancel := context.WithTimeout(h.cfg.Stopping, batchTimeout)
	defer cancel()
	sess, err := h.cfg.Cached(ctx, id)
	if err == nil {
		err = h.noteUse(ctx, sess, at)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.touches[id]
	switch {
	case t == nil:
	case err == nil && t.at.Equal(at), isMissing(err), h.cfg.Stopping.Err() != nil, h.now().Sub(t.at) > t.ttl:
		delete(h.touches, id)
	case err == nil: // it was used meanwhile
		t.pause = 0
		t.timer = time.AfterFunc(t.delay(), func() { h.noteTouch(id) })
	default:
		t.pause = min(max(time.Second, 2*t.pause), maxNoteDelay)
		t.timer = time.AfterFunc(t.pause, func() { h.noteTouch(id) })
	}
}

// noteUse stores that a stream was used, unless the log knows a later use or its end.
func (h *Handler) noteUse(ctx context.Context, sess *engine.Session, at time.Time) error {
	return h.noteAgain(ctx, sess, func(st *core.State, s *stream) (*bytestream.Line, error) {
		if s.state.Deleted || st.Deleted != nil || !s.state.Used.Before(at.Truncate(time.Millisecond)) {
			return nil, nil
		}
		return &bytestream.Line{Type: bytestream.TypeTouch, Time: stamp(at)}, nil
	})
}
