package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer/removal"
)

// Erasable is what there is of a session, see package removal.
type Erasable = removal.Found

// Receipt says what was erased, and what remains.
type Receipt = removal.Receipt

// EraseRequest asks for the end of a session.
type EraseRequest struct {
	Notice
	// Now erases a session that is not in the trash, or not for long enough.
	Now bool `json:"now,omitempty"`
	// Damaged erases a session that cannot be read, so that nobody can tell what it
	// holds.
	Damaged bool `json:"damaged,omitempty"`
}

// RedactRequest asks for entries to be replaced for good.
type RedactRequest struct {
	Notice
	Entries []string `json:"entries"`        // their ids
	With    string   `json:"with,omitempty"` // what stands in the place of what they say
	DryRun  bool     `json:"dryRun,omitempty"`
}

// Redacted says what was redacted. Of a dry run it has the lines as they would
// be, and nothing was removed.
type Redacted struct {
	removal.Redacted
	Lines []json.RawMessage `json:"lines,omitempty"`
	// Wait is, in a dry run, how long the redaction waits until the brokers have
	// flushed what says so.
	Wait time.Duration `json:"wait,omitempty"`
}

// Hold is a session that is held.
type Hold struct {
	Session core.SessionID `json:"session"`
	Held    core.Notice    `json:"held"`
}

// Holds is an answer of GET /v1/holds.
type Holds struct {
	Holds []Hold `json:"holds"`
}

const (
	// maxRedacted is how many entries one request may redact.
	maxRedacted = 1000
	// maxWith bounds what stands in their place.
	maxWith = 4 << 10
	// defaultWith stands there where nothing else was asked for.
	defaultWith = "[redacted]"
	// removeTime bounds an erasure or a redaction, besides the time that the brokers
	// take to flush. It goes on when its caller has gone.
	removeTime = 10 * time.Minute
)

var errNoRemover = fmt.Errorf("this node erases nothing: %w", core.ErrUnavailable)

// withReason reads who does something and why, and refuses to go on without a
// reason.
func withReason(n Notice) error {
	if n.Why == "" {
		return fmt.Errorf("there is no why; say the reason, the log keeps it: %w", core.ErrInvalid)
	}
	return checkText(n.By, n.Host, n.Why)
}

func (n Notice) core() core.Notice { return core.Notice{By: n.By, Host: n.Host, Why: n.Why} }

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
	var q EraseRequest
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
	out, err := s.eraseNow(r.Context(), id, q)
	if err != nil {
		return s.missing(id, err)
	}
	return answer(w, http.StatusOK, out)
}

// eraseNow erases a session, with audit records.
func (s *Server) eraseNow(ctx context.Context, id core.SessionID, q EraseRequest) (out *Receipt, err error) {
	a, how, err := s.mayErase(ctx, id, q)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.flushAnd(removeTime))
	defer cancel()
	err = s.audited(ctx, a, func(ctx context.Context) (string, error) {
		if out, err = s.cfg.Remover.Erase(ctx, id, q.core(), how); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d records, %d snapshots; it was %d entries, %s; %d sessions came from it",
			out.Removed.Records, out.Removed.Snapshots, out.Entries, out.SHA256, len(out.Forks)), nil
	})
	return out, err
}

// mayErase refuses, with a record of that, what may not be erased.
func (s *Server) mayErase(ctx context.Context, id core.SessionID, q EraseRequest) (act, removal.How, error) {
	a, how := act{"erase", id, q.Notice}, removal.How{Now: q.Now, Damaged: q.Damaged}
	if s.cfg.Remover == nil {
		return a, how, errNoRemover
	}
	f, err := s.cfg.Remover.Find(ctx, id)
	if err != nil {
		return a, how, err
	}
	return a, how, s.noteRefusal(ctx, a, s.cfg.Remover.May(f, how))
}

func (s *Server) redact(w http.ResponseWriter, r *http.Request) error {
	var q RedactRequest
	if err := readJSON(r, &q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
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
	red := engine.Redaction{IDs: q.Entries, Text: q.With, Notice: q.core()}
	es, err := sess.Redacted(red)
	if err != nil && !q.DryRun {
		err = s.noteRefusal(r.Context(), act{"redact", sess.ID(), q.Notice}, err)
	}
	if err != nil {
		return err
	}
	if q.DryRun {
		would, err := s.wouldRedact(r.Context(), sess, q, es)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, would)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.flushAnd(removeTime))
	defer cancel()
	var out *removal.Redacted
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
	return answer(w, http.StatusOK, Redacted{Redacted: *out})
}

func (s *Server) wouldRedact(ctx context.Context, sess *engine.Session, q RedactRequest, es []core.Entry) (Redacted, error) {
	forks, err := s.cfg.Remover.Forks(ctx, sess.ID())
	if err != nil {
		return Redacted{}, err
	}
	out := Redacted{Redacted: removal.Redacted{
		Session: sess.ID(), Log: s.cfg.Log.Name(), Cursor: cursorOf(sess), Entries: q.Entries, Forks: forks, Remains: []string{},
	}, Wait: s.cfg.Remover.Wait()}
	for i := range es {
		out.Lines = append(out.Lines, es[i].Line)
	}
	return out, nil
}

func (q *RedactRequest) check() error {
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

func (s *Server) hold(w http.ResponseWriter, r *http.Request) error {
	return s.noticeFor(w, r, s.noting("hold", (*engine.Session).Hold), withReason)
}

func (s *Server) unhold(w http.ResponseWriter, r *http.Request) error {
	return s.noticeFor(w, r, s.noting("unhold", (*engine.Session).Unhold), withReason)
}

// holds answers with the sessions that are held, as far as this node's rows know.
func (s *Server) holds(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), listWait)
	defer cancel()
	if err := s.cfg.Materializer.CatchUp(ctx); err != nil && r.Context().Err() == nil {
		s.cfg.Logger.Debug("listing holds while the materializer lags", "err", err)
	}
	out := Holds{Holds: []Hold{}}
	for row, err := range s.cfg.Directory.Rows(r.Context()) {
		if err != nil {
			return err
		}
		if row.Held != nil {
			out.Holds = append(out.Holds, Hold{row.ID, *row.Held})
		}
	}
	return answer(w, http.StatusOK, out)
}

// Erasable returns what there is of a session: what Erase would remove.
func (c *Client) Erasable(ctx context.Context, id string) (Erasable, error) {
	return get[Erasable](ctx, c, c.session(id, "/erase"), nil)
}

// Erase removes a session for good. After an error the same again completes it.
func (c *Client) Erase(ctx context.Context, id string, r EraseRequest) (Receipt, error) {
	return send[Receipt](ctx, c, http.MethodPost, c.session(id, "/erase"), nil, r)
}

// Redact replaces what entries say for good. After an error the same again
// completes it.
func (c *Client) Redact(ctx context.Context, id string, r RedactRequest) (Redacted, error) {
	return send[Redacted](ctx, c, http.MethodPost, c.session(id, "/redact"), nil, r)
}

// Hold sees to it that nothing of a session is deleted, erased or redacted.
func (c *Client) Hold(ctx context.Context, id string, n Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/hold"), nil, n, nil)
}

// Unhold ends a hold.
func (c *Client) Unhold(ctx context.Context, id string, n Notice) error {
	return c.sendJSON(ctx, http.MethodPost, c.session(id, "/unhold"), nil, n, nil)
}

// Holds returns the sessions that are held.
func (c *Client) Holds(ctx context.Context) (Holds, error) {
	return get[Holds](ctx, c, "/v1/holds", nil)
}

// flushAnd is d and the time in which the brokers flush.
func (s *Server) flushAnd(d time.Duration) time.Duration { return d + 2*s.cfg.Sessions.FlushEvery() }
