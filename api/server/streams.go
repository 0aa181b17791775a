package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/session/catalog"
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
		Rows:     streamRows{s},
		Webhooks: s.cfg.StreamWebhooks,
		Secret:   s.cfg.StreamSecret,
		Logger:   s.cfg.Logger,
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

// streamRows are the rows of streams.
type streamRows struct{ s *Server }

// List implements durablestreams.Rows.
func (r streamRows) List(ctx context.Context, prefix string, since time.Time) ([]durablestreams.Row, string, error) {
	r.s.catchUp(ctx)
	f := catalog.Filter{Within: prefix}
	if !since.IsZero() {
		f.Modified.From = &since
	}
	page, err := r.s.cfg.Directory.List(ctx, f)
	rows := make([]durablestreams.Row, len(page.Rows))
	for i := range page.Rows {
		rows[i] = streamRow(&page.Rows[i])
	}
	return rows, string(page.Mark), err
}

// Changes implements durablestreams.Rows.
func (r streamRows) Changes(ctx context.Context, prefix, after string) ([]durablestreams.Row, string, error) {
	var rows []durablestreams.Row
	for {
		changes, end, err := r.s.cfg.Directory.Changes(ctx, catalog.Filter{Within: prefix}, catalog.Mark(after), changePage)
		for _, c := range changes {
			if c.Row != nil { // others are gone, or of other sessions
				rows = append(rows, streamRow(c.Row))
			}
		}
		if after = string(end); err != nil || len(rows) > 0 || len(changes) < changePage {
			return rows, after, err
		}
	}
}

func streamRow(row *catalog.Row) durablestreams.Row {
	return durablestreams.Row{ID: row.ID, Name: row.Name}
}

// streamWorker answers calls of the workers of a subscription, which show its token.
func (s *Server) streamWorker(w http.ResponseWriter, r *http.Request) error {
	if s.streams == nil {
		http.NotFound(w, r)
		return nil
	}
	r.Body = paced(w, r)
	s.streams.ServeWorker(w, r, r.PathValue("id"), r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:])
	return nil
}

// streamKeys answers with the keys of webhooks.
func (s *Server) streamKeys(w http.ResponseWriter, r *http.Request) error {
	if s.streams == nil {
		http.NotFound(w, r)
		return nil
	}
	s.streams.ServeKeys(w)
	return nil
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
	once := limited(s.limiters.requests, withWriteDeadline(s.holding(func(w http.ResponseWriter, r *http.Request) error {
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
