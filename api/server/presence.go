package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
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
		list = []session.Present{}
	}
	return answer(w, http.StatusOK, api.PresenceList{Present: list})
}

func (s *Server) announce(w http.ResponseWriter, r *http.Request) error {
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
	if err := callerOf(r.Context()).mayHold(p.Holds); err != nil {
		return err
	}
	if err := s.mayAnnounce(r.Context(), id); err != nil {
		return err
	}
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
	if err := s.mayAnnounce(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	if err := s.cfg.Presence.Leave(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// mayAnnounce returns api.ErrForbidden if a process has claims of sessions that the
// caller may not use. The process then belongs to another caller.
func (s *Server) mayAnnounce(ctx context.Context, process string) error {
	c := callerOf(ctx)
	if c.Prefix == "" {
		return nil
	}
	p, err := s.cfg.Presence.Writer(ctx, process)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err == nil && c.mayHold(p.Holds) != nil {
		err = fmt.Errorf("process %.64q has claims of sessions that this token may not use: %w", process, api.ErrForbidden)
	}
	return err
}

// mayHold is mayUse for the sessions of claims.
func (c caller) mayHold(claims []session.HeldClaim) error {
	for _, h := range claims {
		if err := c.mayUse(h.Session); err != nil {
			return err
		}
	}
	return nil
}

// present returns the present writers, and whether they are known.
func (s *Server) present(ctx context.Context) (list []session.Present, told bool) {
	if s.cfg.Presence == nil {
		return nil, true
	}
	list, err := s.cfg.Presence.List(ctx)
	if err != nil {
		s.cfg.Logger.Debug("presence cannot be told", "err", err)
	}
	return list, err == nil
}

// A heldError is a *core.FencedError that also says whether the holder is alive.
type heldError struct {
	*core.FencedError
	life session.Life
}

func (e *heldError) Error() string { return e.FencedError.Error() + "; " + e.life.String() }

func (e *heldError) Unwrap() error { return e.FencedError }

// withLife adds to an error that names a holder whether that holder is alive.
func (s *Server) withLife(ctx context.Context, err error) error {
	e, ok := errors.AsType[*core.FencedError](err)
	if !ok || e.Holder == nil {
		return err
	}
	list, told := s.present(ctx)
	if !told {
		return err
	}
	return &heldError{e, session.LifeOf(list, e.Session, e.Head, e.Holder, time.Now())}
}
