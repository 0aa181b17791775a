package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// auditedAct is do, recorded as the act called name.
func (s *Server) auditedAct(name string, do sessionAct) sessionAct {
	return func(sess *engine.Session, ctx context.Context, n core.Notice) error {
		a := act{name, sess.ID(), api.Notice{By: n.By, Host: n.Host, Why: n.Why}}
		return s.auditAfter(ctx, a, func(ctx context.Context) error { return do(sess, ctx, n) })
	}
}

// A sessionAct is an act on a session with a notice of who does it and why.
type sessionAct func(*engine.Session, context.Context, core.Notice) error

// withReason checks a notice and requires a reason.
func withReason(n api.Notice) error {
	if n.Why == "" {
		return fmt.Errorf("there is no why; say the reason, the log keeps it: %w", core.ErrInvalid)
	}
	return checkText(n.By, n.Host, n.Why)
}

// coreNotice returns n as the log keeps it.
func coreNotice(n api.Notice) core.Notice { return core.Notice{By: n.By, Host: n.Host, Why: n.Why} }

func (s *Server) delete(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, s.auditedAct("delete", (*engine.Session).Delete))
}

func (s *Server) undelete(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, s.auditedAct("undelete", (*engine.Session).Undelete))
}

func (s *Server) closeSession(w http.ResponseWriter, r *http.Request) error {
	return s.notice(w, r, (*engine.Session).Finish)
}

func (s *Server) notice(w http.ResponseWriter, r *http.Request, do sessionAct) error {
	return s.noticeFor(w, r, do, func(q api.Notice) error { return checkText(q.By, q.Host, q.Why) })
}

// noticeFor is notice with another check.
func (s *Server) noticeFor(w http.ResponseWriter, r *http.Request, do sessionAct, check func(api.Notice) error) error {
	var q api.Notice
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := check(q); err != nil {
		return err
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if err := do(sess, r.Context(), coreNotice(q)); err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Created{ID: sess.ID(), Cursor: sess.Cursor()})
}
