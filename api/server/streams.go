package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// newStreams returns the handler of the durable-streams protocol, nil if the node does
// not serve it.
func (s *Server) newStreams() *durablestreams.Handler {
	if s.cfg.StreamPoll <= 0 {
		return nil
	}
	mayUse := func(ctx context.Context, id core.SessionID) error { return callerOf(ctx).mayUse(id) }
	return durablestreams.New(durablestreams.Config{
		Sessions: s.cfg.Sessions,
		Open:     func(ctx context.Context, id core.SessionID) (*engine.Session, error) { return s.named(ctx, string(id)) },
		Cached: func(ctx context.Context, id core.SessionID) (*engine.Session, error) {
			if err := mayUse(ctx, id); err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, openTimeout)
			defer cancel()
			return s.cfg.Cache.Get(ctx, id)
		},
		Keep:   s.cfg.Cache.Put,
		MayUse: mayUse,
		Delete: func(ctx context.Context, sess *engine.Session, n core.Notice) error {
			return s.auditedAct("delete", (*engine.Session).Delete)(sess, ctx, n)
		},
		Body:     s.readBody,
		Follow:   s.cfg.Log.FollowLazily,
		Sent:     s.limiters.sent,
		Memory:   s.limiters.memory,
		MaxLine:  s.cfg.MaxLine,
		Poll:     s.cfg.StreamPoll,
		CORS:     !s.requiresNoToken(),
		Stopping: s.drain,
	})
}

// stream answers a call of the durable-streams protocol.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	if s.streams == nil {
		return fmt.Errorf("this node does not serve the durable-streams protocol (streams.serve): %w", core.ErrNotFound)
	}
	return s.streams.Serve(w, r, r.PathValue("path"))
}

// streaming answers with h, which waits for new data if the request asks for that: then it
// counts among the followers.
func (s *Server) streaming(h handler) handler {
	once := s.shared(withWriteDeadline(s.holding(func(w http.ResponseWriter, r *http.Request) error {
		lease := s.limiters.memory.Lease()
		defer lease.Release()
		return h(w, r.WithContext(memory.With(r.Context(), lease)))
	})))
	live := s.following(limited(s.limiters.followers, withWriteDeadline(h)))
	return func(w http.ResponseWriter, r *http.Request) error {
		if durablestreams.IsLive(r) {
			return live(w, r)
		}
		return once(w, r)
	}
}

// preflights answers what browsers ask before they send a call of the protocol from a page
// of another origin, and passes other requests to next.
func (s *Server) preflights(next http.Handler) http.Handler {
	if s.streams == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions && strings.HasPrefix(r.URL.Path, durablestreams.Prefix) {
			s.streams.Preflight(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
