package engine

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Witness knows of records that the log may have lost, from what was derived from
// them: snapshots and rows.
type Witness interface {
	// Opened is called with each session that is loaded from the log, and its last
	// record; 0 if the log has none.
	Opened(ctx context.Context, id core.SessionID, end uint64)
	// Refuse returns why nothing may be written to a session: the log lost records
	// of it, and a second history would take their place. It is called before each
	// write.
	Refuse(ctx context.Context, id core.SessionID) error
}

// NoWitness knows of nothing.
type NoWitness struct{}

// Opened implements Witness.
func (NoWitness) Opened(context.Context, core.SessionID, uint64) {}

// Refuse implements Witness.
func (NoWitness) Refuse(context.Context, core.SessionID) error { return nil }

type restoring struct{}

// WithRestoring returns a context whose writes no Witness refuses, for a process
// that restores what the log has lost.
func WithRestoring(ctx context.Context) context.Context {
	return context.WithValue(ctx, restoring{}, true)
}

// refuse returns the Witness's error for a record. Any session can be erased.
func (ss *Sessions) refuse(ctx context.Context, id core.SessionID, kind core.Kind) error {
	if kind == core.KindErase || ctx.Value(restoring{}) != nil {
		return nil
	}
	return ss.cfg.Witness.Refuse(ctx, id)
}

// Extend stores the lines that plain, the canonical JSONL of the session at a later
// record, has after the session's own. It returns how many it stored, and
// core.ErrConflict if plain does not begin with the session's lines. The lines
// continue main if each follows the one before it; otherwise they get a separate
// head.
func (s *Session) Extend(ctx context.Context, plain []byte) (stored int, err error) {
	err = s.write(WithRestoring(ctx), func(st *core.State, fresh bool) (*core.Record, error) {
		if !fresh {
			return nil, errNeedsFresh
		}
		missing, err := linesAfter(st, plain)
		if err != nil || len(missing) == 0 {
			return nil, err
		}
		if err := st.CheckWritable(); err != nil {
			return nil, err
		}
		stored = len(missing)
		head, writer := s.headFor(st, missing)
		return &core.Record{Kind: core.KindAppend, Head: head, Writer: writer, Count: len(missing), Body: core.LinesBody(missing)}, nil
	}, nil)
	if err != nil {
		return 0, err
	}
	if stored > 0 {
		s.ss.lost.count(s.ss.cfg.Logger, s.id, 0, stored)
	}
	return stored, nil
}

// linesAfter returns the lines of plain after those of st.
func linesAfter(st *core.State, plain []byte) ([]core.Entry, error) {
	have := st.Render()
	if bytes.HasPrefix(have, plain) {
		return nil, nil
	}
	rest, ok := bytes.CutPrefix(plain, have)
	if !ok {
		return nil, fmt.Errorf("session %s: its lines are not those that the snapshot begins with: %w", st.ID, core.ErrConflict)
	}
	return core.BodyEntries(st.Dialect, bytes.TrimSuffix(rest, []byte("\n")))
}

// headFor returns the head for lines that follow those of st, and their writer.
func (s *Session) headFor(st *core.State, lines []core.Entry) (head, writer string) {
	main := st.Heads[core.MainHead]
	if main == nil || !st.Dialect.Linear() && !continues(st.Leaf(core.MainHead), lines) {
		return s.orphanHead(st, s.writer), s.writer
	}
	if main.Claim != nil {
		return core.MainHead, main.Claim.Writer
	}
	return core.MainHead, s.writer
}

// continues reports whether lines are one branch that begins at leaf.
func continues(leaf core.Leaf, lines []core.Entry) bool {
	at, _ := leaf.ID()
	for i := range lines {
		switch {
		case lines[i].Aside:
			continue
		case lines[i].ID == "" || lines[i].Parent != at:
			return false
		}
		at = lines[i].ID
	}
	return true
}

// WithWitness returns a copy of ss that asks w. Closing either closes both.
func (ss *Sessions) WithWitness(w Witness) *Sessions {
	cfg := ss.cfg
	cfg.Witness = w
	return ss.with(cfg)
}
