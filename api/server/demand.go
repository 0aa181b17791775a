package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
)

// seenWait is how long a read waits for a cursor that its session has not
// reached yet.
const seenWait = 5 * time.Second

func demandOf(r *http.Request) (d api.Demand, err error) {
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

// session returns the session that the request's path names, as fresh as the
// log's leader has it, and as the request demands.
func (s *Server) session(r *http.Request) (*engine.Session, error) {
	d, err := demandOf(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := opening(r)
	defer cancel()
	open := s.named
	if d.Strict {
		open = s.strict
	}
	sess, err := open(ctx, r.PathValue("id"))
	if errors.Is(err, core.ErrNotFound) && r.Method != http.MethodGet {
		// A writer is not sent away on the word of a leader that may be cut off.
		sess, err = s.strict(ctx, r.PathValue("id"))
	}
	if err != nil {
		return nil, err
	}
	return sess, reach(ctx, sess, d.Seen)
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
		// It is there after all: who said otherwise had not heard of it yet.
		if err := retry.Wait(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// reach waits a bounded time for the session to have the record that c names.
func reach(ctx context.Context, sess *engine.Session, c core.Cursor) error {
	if c == (core.Cursor{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	return sess.Reach(ctx, c)
}
