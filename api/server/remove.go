package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer/removal"
)

var errNoRemover = fmt.Errorf("this node erases nothing: %w", core.ErrUnavailable)

func (s *Server) erasable(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	if s.cfg.Remover == nil {
		return errNoRemover
	}
	f, err := s.cfg.Remover.Find(r.Context(), id)
	if err != nil {
		return s.missing(id, err)
	}
	return answer(w, http.StatusOK, f)
}

func (s *Server) erase(w http.ResponseWriter, r *http.Request) error {
	var q api.EraseRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err == nil {
		err = withReason(q.Notice)
	}
	if err != nil {
		return err
	}
	out, err := s.eraseAudited(r.Context(), id, q)
	if err != nil {
		return s.missing(id, err)
	}
	return answer(w, http.StatusOK, out)
}

// eraseAudited erases a session, with audit records.
func (s *Server) eraseAudited(ctx context.Context, id core.SessionID, q api.EraseRequest) (out *report.Receipt, err error) {
	a, how, err := s.mayErase(ctx, id, q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.flushAnd(removeTimeout))
	defer cancel()
	err = s.audited(ctx, a, func(ctx context.Context) (string, error) {
		if out, err = s.cfg.Remover.Erase(ctx, id, coreNotice(q.Notice), how); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d records, %d snapshots; it was %d entries, %s; %d sessions came from it",
			out.Removed.Records, out.Removed.Snapshots, out.Entries, out.SHA256, len(out.Forks)), nil
	})
	return out, err
}

// mayErase rejects, with an audit record, what may not be erased.
func (s *Server) mayErase(ctx context.Context, id core.SessionID, q api.EraseRequest) (act, removal.How, error) {
	a, how := act{"erase", id, q.Notice}, removal.How{Now: q.Now, Damaged: q.Damaged}
	if s.cfg.Remover == nil {
		return a, how, errNoRemover
	}
	f, err := s.cfg.Remover.Find(ctx, id)
	if err != nil {
		return a, how, err
	}
	return a, how, s.auditRefusal(ctx, a, s.cfg.Remover.May(f, how))
}

func (s *Server) redact(w http.ResponseWriter, r *http.Request) error {
	var q api.RedactRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := checkRedact(&q); err != nil {
		return err
	}
	if s.cfg.Remover == nil {
		return errNoRemover
	}
	sess, err := s.session(r)
	if err != nil {
		return err
	}
	if err := sess.Refresh(r.Context()); err != nil {
		return err
	}
	red := engine.Redaction{IDs: q.Entries, Text: q.With, Notice: coreNotice(q.Notice)}
	es, err := sess.Redacted(red)
	if err != nil && !q.DryRun {
		err = s.auditRefusal(r.Context(), act{"redact", sess.ID(), q.Notice}, err)
	}
	if err != nil {
		return err
	}
	if q.DryRun {
		would, err := s.previewRedaction(r.Context(), sess, q, es)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, would)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.flushAnd(removeTimeout))
	defer cancel()
	var out *report.Redacted
	err = s.audited(ctx, act{"redact", sess.ID(), q.Notice}, func(ctx context.Context) (string, error) {
		if out, err = s.cfg.Remover.Redact(ctx, sess.ID(), red); err != nil {
			return "", err
		}
		return fmt.Sprintf("entries %v; %d records, %d snapshots removed; %d sessions came from it",
			q.Entries, out.Removed.Records, out.Removed.Snapshots, len(out.Forks)), nil
	})
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, api.Redacted{Redacted: *out})
}

func (s *Server) previewRedaction(ctx context.Context, sess *engine.Session, q api.RedactRequest, es []core.Entry) (api.Redacted, error) {
	forks, err := s.cfg.Remover.Forks(ctx, sess.ID())
	if err != nil {
		return api.Redacted{}, err
	}
	out := api.Redacted{Redacted: report.Redacted{
		Session: sess.ID(), Log: s.cfg.Log.Name(), Cursor: sess.Cursor(), Entries: q.Entries, Forks: forks, Remains: []string{},
	}, Wait: s.cfg.Remover.Wait()}
	for i := range es {
		out.Lines = append(out.Lines, es[i].Line)
	}
	return out, nil
}

func (s *Server) hold(w http.ResponseWriter, r *http.Request) error {
	return s.noticeFor(w, r, s.auditedAct("hold", (*engine.Session).Hold), withReason)
}

func (s *Server) unhold(w http.ResponseWriter, r *http.Request) error {
	return s.noticeFor(w, r, s.auditedAct("unhold", (*engine.Session).Unhold), withReason)
}

// holds answers with the sessions on legal hold, as far as this node's directory
// has them.
func (s *Server) holds(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
	defer cancel()
	if err := s.cfg.Materializer.CatchUp(ctx); err != nil && r.Context().Err() == nil {
		s.cfg.Logger.Debug("listing holds while the materializer lags", "err", err)
	}
	out := api.Holds{Holds: []api.Hold{}}
	for row, err := range s.cfg.Directory.Rows(r.Context()) {
		if err != nil {
			return err
		}
		if row.Held != nil {
			out.Holds = append(out.Holds, api.Hold{Session: row.ID, Held: *row.Held})
		}
	}
	return answer(w, http.StatusOK, out)
}

// flushAnd returns d plus the time in which the brokers flush.
func (s *Server) flushAnd(d time.Duration) time.Duration { return d + 2*s.cfg.Sessions.FlushEvery() }

const (
	// maxRedacted is how many entries one request may redact.
	maxRedacted = 1000
	// maxWith bounds the replacement text, in bytes.
	maxWith = 4 << 10
	// defaultWith is the default replacement.
	defaultWith = "[redacted]"
	// removeTimeout bounds an erasure or a redaction, without the time that the
	// brokers take to flush. The request does not end it.
	removeTimeout = 10 * time.Minute
)

// checkRedact checks q and sets its defaults.
func checkRedact(q *api.RedactRequest) error {
	switch {
	case len(q.Entries) == 0:
		return fmt.Errorf("no entries are named: %w", core.ErrInvalid)
	case len(q.Entries) > maxRedacted:
		return fmt.Errorf("%d entries, %d are allowed in one request: %w", len(q.Entries), maxRedacted, core.ErrInvalid)
	case len(q.With) > maxWith:
		return fmt.Errorf("with is %d bytes long, %d are allowed: %w", len(q.With), maxWith, core.ErrInvalid)
	}
	if q.With == "" {
		q.With = defaultWith
	}
	slices.Sort(q.Entries)
	q.Entries = slices.Compact(q.Entries)
	if err := checkText(q.With); err != nil {
		return err
	}
	return withReason(q.Notice)
}
