package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer/removal"
)

// applyTimeout bounds the execution of a plan. The answer lists what remains;
// applying the same plan again does the rest.
const applyTimeout = time.Hour

func (s *Server) plan(w http.ResponseWriter, r *http.Request) error {
	var p report.Policy
	if err := readJSON(r, &p); err != nil {
		return err
	}
	if s.cfg.Remover == nil {
		return errNoRemover
	}
	plan, err := s.cfg.Remover.Plan(r.Context(), p)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, plan)
}

func (s *Server) apply(w http.ResponseWriter, r *http.Request) error {
	body, release, err := s.readBody(r)
	if err != nil {
		return err
	}
	defer release()
	var q api.ApplyRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return fmt.Errorf("the body is no plan: %v: %w", err, core.ErrInvalid)
	}
	if err := withReason(q.Notice); err != nil {
		return err
	}
	if s.cfg.Remover == nil {
		return errNoRemover
	}
	if err := q.Plan.Check(s.cfg.Log.Name()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.flushAnd(applyTimeout))
	defer cancel()
	out, err := s.applyAudited(ctx, q)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

// applyAudited executes a plan, with an audit record that has its policy.
func (s *Server) applyAudited(ctx context.Context, q api.ApplyRequest) (*api.Applied, error) {
	out := &api.Applied{Plan: q.Plan.ID, Outcomes: []report.Outcome{}}
	policy, err := json.Marshal(q.Plan.Policy)
	if err != nil {
		return nil, err
	}
	return out, s.audited(ctx, act{"retention", "", q.Notice}, func(ctx context.Context) (string, error) {
		s.markErased(ctx, q)
		for _, it := range q.Plan.Items {
			o := report.Outcome{Item: it, Done: true}
			if err := s.applyItem(ctx, q, it); err != nil {
				o.Done, o.Left = false, err.Error()
			} else {
				out.Done++
			}
			out.Outcomes = append(out.Outcomes, o)
		}
		return fmt.Sprintf("plan %s: %d of %d sessions; policy %s", q.Plan.ID, out.Done, len(q.Plan.Items), policy), nil
	})
}

func (s *Server) applyItem(ctx context.Context, q api.ApplyRequest, it report.Item) error {
	n := noticeOf(q, it)
	if it.Do == report.ToTrash {
		return s.auditAfter(ctx, act{"delete", it.Session, n}, func(ctx context.Context) error {
			return s.cfg.Remover.Trash(ctx, it, coreNotice(n))
		})
	}
	if it.Do != report.ToErase {
		return fmt.Errorf("it says to do %q: %w", it.Do, core.ErrInvalid)
	}
	if err := s.cfg.Remover.Unchanged(ctx, it); err != nil && !errors.Is(err, core.ErrDeleted) { // half erased
		return err
	}
	_, err := s.eraseAudited(ctx, it.Session, api.EraseRequest{Notice: n})
	return err
}

func noticeOf(q api.ApplyRequest, it report.Item) api.Notice {
	n := q.Notice
	n.Why = fmt.Sprintf("%s (plan %s, %s)", n.Why, q.Plan.ID, it.Why)
	return n
}

// markErased marks all sessions of the plan as erased at once, if the brokers
// must flush the marks before anything is removed: so the plan waits for one
// flush, not for one per session. applyItem reports what fails here.
func (s *Server) markErased(ctx context.Context, q api.ApplyRequest) {
	if s.cfg.Sessions.FlushEvery() == 0 {
		return
	}
	for _, it := range q.Plan.Items {
		if it.Do != report.ToErase || s.cfg.Remover.Unchanged(ctx, it) != nil {
			continue
		}
		n := noticeOf(q, it)
		a := act{"erase", it.Session, n}
		if s.writeAudit(ctx, a, report.AuditBegun, "") != nil {
			return
		}
		if _, err := s.cfg.Remover.Say(ctx, it.Session, coreNotice(n), removal.How{}); err != nil {
			s.auditOutcome(ctx, a, "", err)
		}
	}
}

// EmptyTrash erases the sessions whose time in the trash is over, on behalf of
// the node, and returns their number.
func (s *Server) EmptyTrash(ctx context.Context) (int, error) {
	plan, err := s.cfg.Remover.Plan(ctx, report.Policy{EraseTrash: true})
	if err != nil || len(plan.Items) == 0 {
		return 0, err
	}
	out, err := s.applyAudited(ctx, api.ApplyRequest{Plan: *plan, Notice: api.Notice{By: "sessnode", Host: s.cfg.Node, Why: "trash.erase is set"}})
	if err != nil {
		return 0, err
	}
	return out.Done, nil
}
