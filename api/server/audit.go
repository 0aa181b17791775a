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
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/stream"
)

var errNoAudit = fmt.Errorf("this node keeps no audit records: %w", core.ErrUnavailable)

func (s *Server) audit(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Audit == nil {
		return errNoAudit
	}
	var q api.AuditQuery
	var err error
	if after := r.URL.Query().Get("after"); after != "" {
		if q.After, err = strconv.ParseUint(after, 10, 64); err != nil {
			return fmt.Errorf("after %q: use the number of an audit record: %w", after, core.ErrInvalid)
		}
	}
	if since := r.URL.Query().Get("since"); since != "" {
		if q.Since, err = time.Parse(time.RFC3339, since); err != nil {
			return fmt.Errorf("since %q: use a time such as 2026-01-02T03:04:05Z: %w", since, core.ErrInvalid)
		}
	}
	rs, err := s.cfg.Audit.Read(r.Context(), q.After, q.Since)
	if err != nil {
		return err
	}
	page := api.AuditPage{Records: rs}
	if rs == nil {
		page.Records = []report.AuditRecord{}
	}
	if len(rs) == stream.AuditPage {
		page.Next = rs[len(rs)-1].N
	}
	return answer(w, http.StatusOK, page)
}

// An act is something that an operator does, for the audit records.
type act struct {
	name    string
	session core.SessionID
	notice  api.Notice
}

func (s *Server) writeAudit(ctx context.Context, a act, outcome, detail string) error {
	if s.cfg.Audit == nil {
		return errNoAudit
	}
	return s.cfg.Audit.Write(ctx, report.AuditRecord{
		Act: a.name, Session: a.session, By: a.notice.By, Host: a.notice.Host, Why: a.notice.Why,
		Node: s.cfg.Node, Outcome: outcome, Detail: detail, Token: callerOf(ctx).name, Request: RequestID(ctx),
	})
}

// auditTimeout is how long writing an audit record may take. It does not end with
// the request.
const auditTimeout = 15 * time.Second

// audited does what cannot be undone. It runs do only after a record says that
// the act begins, and records the outcome afterwards. do returns the detail of
// that record.
func (s *Server) audited(ctx context.Context, a act, do func(context.Context) (detail string, err error)) error {
	if err := s.writeAudit(ctx, a, report.AuditBegun, ""); err != nil {
		return err
	}
	detail, err := do(ctx)
	s.auditOutcome(ctx, a, detail, err)
	return err
}

// auditAfter does what can be undone and records it afterwards. The session's own
// record has the same, so a failure to write the audit record does not fail the
// act.
func (s *Server) auditAfter(ctx context.Context, a act, do func(context.Context) error) error {
	err := do(ctx)
	if s.cfg.Audit != nil {
		s.auditOutcome(ctx, a, "", err)
	}
	return err
}

// auditing answers with h and records it under the act of its route.
func (s *Server) auditing(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		return s.auditAfter(r.Context(), s.actOf(r), func(context.Context) error { return h(w, r) })
	}
}

// actOf returns the act of a request, without the caller.
func (s *Server) actOf(r *http.Request) act {
	a := act{name: s.routeOf(r).act}
	if id, err := core.ParseSessionID(r.PathValue("id")); err == nil {
		a.session = id
	}
	return a
}

func (s *Server) auditOutcome(ctx context.Context, a act, detail string, err error) {
	outcome := report.AuditDone
	switch {
	case isRefusal(err):
		outcome, detail = report.AuditRefused, err.Error()
	case err != nil:
		outcome, detail = report.AuditFailed, err.Error()
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	if err := s.writeAudit(last, a, outcome, detail); err != nil {
		s.cfg.Logger.Error("what was done is not in the audit records", "act", a.name, "session", a.session,
			"by", a.notice.By, "outcome", outcome, "err", err)
	}
}

// isRefusal distinguishes what the log or its rules reject from failures.
func isRefusal(err error) bool {
	for _, refusal := range []error{core.ErrHeld, core.ErrConflict, core.ErrFenced, core.ErrDeleted, core.ErrInvalid} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// auditRefusal records that an act was rejected before anything was done, and
// returns err. A session that does not exist is not recorded.
func (s *Server) auditRefusal(ctx context.Context, a act, err error) error {
	if s.cfg.Audit != nil && (isRefusal(err) || errors.Is(err, core.ErrCorrupt)) {
		s.auditOutcome(ctx, a, "", err)
	}
	return err
}
