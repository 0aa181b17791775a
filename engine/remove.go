package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/redact"
)

// Erase ends the session permanently: later writes fail, and the error names who
// erased it. The caller then removes its data, see stream.Log.Forget. If may returns
// an error for the state, nothing is stored and Erase returns it. It returns
// core.ErrHeld under a legal hold, and nil if the session was erased before.
func (s *Session) Erase(ctx context.Context, n core.Notice, may func(*core.State) error) error {
	return s.noticeIf(ctx, core.KindErase, core.MainHead, s.writer, n, func(st *core.State) bool { return st.Erased != nil }, may)
}

// DeleteIf is Delete that stores nothing if may returns an error for the state.
func (s *Session) DeleteIf(ctx context.Context, n core.Notice, may func(*core.State) error) error {
	return s.noticeIf(ctx, core.KindDelete, core.MainHead, s.writer, n, func(st *core.State) bool { return st.Deleted != nil }, may)
}

// Hold prevents that the session is deleted, erased or redacted until Unhold.
// Appends continue. A second hold changes nothing.
func (s *Session) Hold(ctx context.Context, n core.Notice) error {
	return s.notice(ctx, core.KindHold, core.MainHead, s.writer, n, func(st *core.State) bool { return st.LegalHold != nil })
}

// Unhold ends a legal hold, of any user. It returns nil if there is none.
func (s *Session) Unhold(ctx context.Context, n core.Notice) error {
	return s.notice(ctx, core.KindUnhold, core.MainHead, s.writer, n, func(st *core.State) bool { return st.LegalHold == nil })
}

// LastErase returns the erase record of a session and what it says. It returns
// core.ErrConflict if the session was not erased.
func (ss *Sessions) LastErase(ctx context.Context, id core.SessionID) (*core.Record, core.Notice, error) {
	var n core.Notice
	last, err := ss.lastOf(ctx, id)
	if err != nil {
		return nil, n, err
	}
	if last.Kind != core.KindErase {
		return nil, n, fmt.Errorf("session %s was not erased: %w", id, core.ErrConflict)
	}
	if err := json.Unmarshal(last.Body, &n); err != nil {
		return nil, n, fmt.Errorf("erase record of session %s: %v: %w", id, err, core.ErrCorrupt)
	}
	return last, n, nil
}

// Redaction replaces entries permanently.
type Redaction struct {
	IDs    []string // of the entries
	Text   string   // in place of every text of theirs
	Notice core.Notice
}

// Redact replaces the texts of entries permanently: their ids never accept other
// bytes. The old bytes stay in the log until a checkpoint covers the redaction and
// the records before it are truncated. It returns core.ErrHeld under a legal hold,
// core.ErrNotFound for an unknown entry, core.ErrInvalid if the agent could not read
// the redacted entry, and nil if all were redacted before.
func (s *Session) Redact(ctx context.Context, r Redaction) error {
	n := r.Notice
	if n.Time.IsZero() {
		n.Time = s.ss.cfg.Now().UTC()
	}
	if n.Host == "" {
		n.Host = s.ss.cfg.Host
	}
	first, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return s.write(ctx, func(st *core.State, fresh bool) (*core.Record, error) {
		if !fresh {
			return nil, errNeedsFresh
		}
		if err := errors.Join(st.CheckRemovable(), st.CheckWritable()); err != nil {
			return nil, err
		}
		es, err := redacted(st, r)
		if err != nil || len(es) == 0 {
			return nil, err
		}
		body := bytes.Join([][]byte{first, core.LinesBody(es)}, []byte("\n"))
		return &core.Record{Kind: core.KindRedact, Head: core.MainHead, Writer: s.writer, Count: len(es), Body: body}, nil
	}, nil)
}

// Redacted returns the entries as Redact would store them. It stores nothing; its
// errors are those of Redact.
func (s *Session) Redacted(r Redaction) (es []core.Entry, err error) {
	err = s.View(func(st *core.State) error {
		if err := errors.Join(st.CheckRemovable(), st.CheckWritable()); err != nil {
			return err
		}
		es, err = redacted(st, r)
		return err
	})
	return es, err
}

// redacted returns the new entries of r, without those that were redacted before.
func redacted(st *core.State, r Redaction) ([]core.Entry, error) {
	var es []core.Entry
	for i, id := range r.IDs {
		old, ok := st.Entry(id)
		if !ok {
			return nil, &core.LineError{Line: i + 1, ID: id, Err: fmt.Errorf("session %s has no such entry: %w", st.ID, core.ErrNotFound)}
		}
		if st.Redacted[id] {
			continue
		}
		line, err := redact.Line(old.Line, r.Text)
		var e core.Entry
		if err == nil {
			e, err = checkLine(st.Dialect, line, false)
		}
		if err == nil && (e.ID != old.ID || e.Parent != old.Parent || e.Type != old.Type || e.Time != old.Time || e.Aside != old.Aside) {
			err = fmt.Errorf("it would not be the same entry any more: %w", core.ErrInvalid)
		}
		if err != nil {
			return nil, &core.LineError{Line: i + 1, ID: id, Err: fmt.Errorf("an entry of type %q cannot be redacted: %w", old.Type, err)}
		}
		es = append(es, e)
	}
	return es, nil
}
