package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
)

// PresenceList is an answer of GET /v1/presence: nodes first, then writers, the
// longest present first.
type PresenceList struct {
	Present []stream.Present `json:"present"`
}

// What to do where another writer came first, see package session.
const (
	Fail   = session.Fail
	Rebase = session.Rebase
	Branch = session.Branch
)

// ParseOnConflict reads what to do where another writer came first.
func ParseOnConflict(s string) (session.OnConflict, error) { return session.ParseOnConflict(s) }

// A Life is what is known of whether a claim's holder is there.
type Life = stream.Life

// What is known of a holder, see package stream.
const (
	LifeAlive  = stream.Alive
	LifeSilent = stream.Silent
	LifeNew    = stream.New
)

var errNoPresence = fmt.Errorf("this node keeps no presence: %w", core.ErrNotFound)

func (s *Server) presence(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Presence == nil {
		return errNoPresence
	}
	list, err := s.cfg.Presence.List(r.Context())
	if err != nil {
		return err
	}
	if list == nil {
		list = []stream.Present{}
	}
	return answer(w, http.StatusOK, PresenceList{Present: list})
}

func (s *Server) beat(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Presence == nil {
		return errNoPresence
	}
	var p session.Presence
	if err := readJSON(r, &p); err != nil {
		return err
	}
	id := r.PathValue("id")
	if p.ID != "" && p.ID != id {
		return fmt.Errorf("the body is about process %.64q, the path about %.64q: %w", p.ID, id, core.ErrInvalid)
	}
	p.ID = id
	if err := s.cfg.Presence.Beat(r.Context(), p); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) leave(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Presence == nil {
		return errNoPresence
	}
	if err := s.cfg.Presence.Leave(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// present is who is present, and whether that can be told.
func (s *Server) present(ctx context.Context) (list []stream.Present, told bool) {
	if s.cfg.Presence == nil {
		return nil, true
	}
	list, err := s.cfg.Presence.List(ctx)
	if err != nil {
		s.cfg.Logger.Debug("presence cannot be told", "err", err)
	}
	return list, err == nil
}

// A heldError is a *core.FencedError that also says whether the holder seems to
// be there.
type heldError struct {
	*core.FencedError
	life stream.Life
}

func (e *heldError) Error() string { return e.FencedError.Error() + "; " + e.life.String() }

func (e *heldError) Unwrap() error { return e.FencedError }

// withLife adds to err, where it names a holder, whether that one is there.
func (s *Server) withLife(ctx context.Context, err error) error {
	e, ok := errors.AsType[*core.FencedError](err)
	if !ok || e.Holder == nil {
		return err
	}
	list, told := s.present(ctx)
	if !told {
		return err
	}
	return &heldError{e, stream.LifeOf(list, e.Session, e.Head, e.Holder, time.Now())}
}

// Presence returns who is at work on the log, or was until lately.
func (c *Client) Presence(ctx context.Context) (PresenceList, error) {
	return get[PresenceList](ctx, c, "/v1/presence", nil)
}

// Announcer returns what keeps this process present at the node while it has
// claims.
func (c *Client) Announcer() *session.Announcer {
	return &session.Announcer{Heartbeat: c.Beat, Leave: c.Leave}
}

// Beat says that this process is there and which claims it has. It is to be
// said again every session.HeartbeatEvery.
func (c *Client) Beat(ctx context.Context, p session.Presence) error {
	err := c.sendJSON(ctx, http.MethodPut, "/v1/presence/"+url.PathEscape(p.ID), nil, p, nil)
	if p.More > 0 && errors.Is(err, core.ErrInvalid) { // by an older node, that knows no more
		p.More = 0
		return c.Beat(ctx, p)
	}
	return err
}

// Leave says that this process has gone. To say it twice is no error.
func (c *Client) Leave(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/v1/presence/"+url.PathEscape(id), nil, nil, nil, 0, nil)
}
