package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/internal/retry"
)

// named returns the session called name, at least as new as the log's leader has
// it.
func (s *Server) named(ctx context.Context, name string) (*engine.Session, error) {
	id, err := core.ParseSessionID(name)
	if err == nil {
		err = callerOf(ctx).mayUse(id)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	sess, err := s.cfg.Cache.Fresh(ctx, id)
	return sess, s.missing(id, err)
}

// openTimeout is how long a request waits for its session. It is longer than a
// cluster takes to elect a leader.
const openTimeout = 15 * time.Second

// missing adds the session's id to the error of a session that does not exist.
func (s *Server) missing(id core.SessionID, err error) error {
	if errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrCorrupt) {
		return fmt.Errorf("no session %s in log %s: %w", id, s.cfg.Log.Name(), core.ErrNotFound)
	}
	return err
}

// cursorTimeout is how long a read waits for its session to reach a cursor.
const cursorTimeout = 5 * time.Second

func readOptionsOf(r *http.Request) (d api.ReadOptions, err error) {
	if r.Method != http.MethodGet {
		return d, nil
	}
	q := r.URL.Query()
	if d.Seen, err = core.ParseCursor(q.Get("seen")); err != nil {
		return d, err
	}
	if strict := q.Get("strict"); strict != "" {
		if d.Strict, err = strconv.ParseBool(strict); err != nil {
			return d, fmt.Errorf("strict=%.20q: use true or false: %w", strict, core.ErrInvalid)
		}
	}
	return d, nil
}

// session returns the session in the request's path, at least as new as the log's
// leader has it and as the read options require. Almost every handler begins with
// it.
func (s *Server) session(r *http.Request) (*engine.Session, error) {
	d, err := readOptionsOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := openContext(r)
	defer cancel()
	open := s.named
	if d.Strict {
		open = s.strict
	}
	sess, err := open(ctx, r.PathValue("id"))
	if errors.Is(err, core.ErrNotFound) && r.Method != http.MethodGet {
		// The leader may be partitioned: ask a quorum before rejecting a writer.
		sess, err = s.strict(ctx, r.PathValue("id"))
	}
	if err != nil {
		return nil, err
	}
	if err := waitForCursor(ctx, sess, d.Seen); err != nil {
		return nil, err
	}
	return sess, s.reserveEntries(r, sess)
}

// entryWork is how many bytes a read takes for each entry of its session, besides the
// answer.
const entryWork = 256

// reserveEntries reserves memory for a read of a session: paths, orders and lists of its
// entries. Followers do without.
func (s *Server) reserveEntries(r *http.Request, sess *engine.Session) error {
	if r.Method != http.MethodGet || s.routeOf(r).has(follower) {
		return nil
	}
	var entries int
	_ = sess.View(func(st *core.State) error {
		entries = len(st.Entries)
		return nil
	})
	return memory.Grow(r.Context(), int64(entries)*entryWork)
}

// strict returns the session called name as a quorum has it.
func (s *Server) strict(ctx context.Context, name string) (*engine.Session, error) {
	id, err := core.ParseSessionID(name)
	if err != nil {
		return nil, err
	}
	for {
		sess, err := s.cfg.Cache.Get(ctx, id)
		if err == nil {
			return sess, sess.RefreshStrict(ctx)
		}
		if !errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt) {
			return nil, err
		}
		if proof := s.cfg.Sessions.ProveAbsent(ctx, id); !errors.Is(proof, core.ErrConflict) {
			if proof != nil {
				return nil, proof
			}
			return nil, s.missing(id, err)
		}
		// It exists: the first answer was stale.
		if err := retry.Wait(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// waitForCursor waits up to cursorTimeout for the session to have the record of
// c.
func waitForCursor(ctx context.Context, sess *engine.Session, c core.Cursor) error {
	if c == (core.Cursor{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cursorTimeout)
	defer cancel()
	return sess.WaitFor(ctx, c)
}

// preferredWait returns how long the caller waits for the answer (Prefer:
// wait=N), 0 if it does not say.
func preferredWait(r *http.Request) time.Duration {
	for _, header := range r.Header.Values(api.HeaderPrefer) {
		for part := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 16)
			if strings.EqualFold(name, "wait") && err == nil && n > 0 {
				return time.Duration(n) * time.Second
			}
		}
	}
	return 0
}

// withCallerTimeout ends the context of a write when its caller stops waiting.
// For reads see openContext.
func withCallerTimeout(r *http.Request) (*http.Request, context.CancelFunc) {
	wait := preferredWait(r)
	if wait == 0 || r.Method == http.MethodGet {
		return r, func() {}
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	return r.WithContext(ctx), cancel
}

// openContext bounds how long a request waits for its session.
func openContext(r *http.Request) (context.Context, context.CancelFunc) {
	wait := openTimeout
	if asked := preferredWait(r); asked > 0 {
		wait = min(wait, asked-min(asked/8, 250*time.Millisecond))
	}
	return context.WithTimeout(r.Context(), wait)
}
