package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// loadTries is how often a load starts over when what a base names is not
// there: a checkpoint or a purge may have come between.
const loadTries = 3

// load reads a session from the leader's last record's base up to that record.
func (ss *Sessions) load(ctx context.Context, id core.SessionID) (*core.State, error) {
	var err error
	for range loadTries {
		var last *core.Record
		if last, err = ss.cfg.Log.Last(ctx, id); err != nil {
			return nil, err
		}
		var st *core.State
		if st, err = ss.loadUpTo(ctx, id, last); err == nil {
			return st, nil
		}
		if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrStray) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("session %s is damaged (look with: sessctl verify %s): %v: %w", id, id, err, core.ErrCorrupt)
}

func (ss *Sessions) loadUpTo(ctx context.Context, id core.SessionID, last *core.Record) (*core.State, error) {
	st, err := ss.loadBase(ctx, id, last)
	if err != nil {
		// Nothing is lost while the records are still there from the first on.
		first, ferr := ss.loadFirst(ctx, id, last)
		if ferr != nil {
			return nil, err
		}
		ss.cfg.Logger.Warn("session read from its first record, its base cannot be used",
			"session", id, "base", last.Base, "err", err)
		st = first
	}
	if err := ss.readOn(ctx, st, last, st.Apply); err != nil {
		return nil, err
	}
	return st, nil
}

// loadBase returns the state at the base of the session's last record.
func (ss *Sessions) loadBase(ctx context.Context, id core.SessionID, last *core.Record) (*core.State, error) {
	base := last
	if last.Kind != core.KindOpen && last.Kind != core.KindCheckpoint {
		var err error
		if base, err = ss.cfg.Log.At(ctx, id, last.Base); err != nil {
			return nil, fmt.Errorf("base of record %d: %w", last.Seq, err)
		}
	}
	switch base.Kind {
	case core.KindOpen:
		st := core.NewState(ss.cfg.Log.Name(), id, ss.cfg.Dialects)
		return st, st.Apply(base)
	case core.KindCheckpoint:
		return ss.loadCheckpoint(ctx, base)
	}
	return nil, fmt.Errorf("base of record %d is a record of kind %q: %w", last.Seq, base.Kind, core.ErrCorrupt)
}

func (ss *Sessions) loadCheckpoint(ctx context.Context, r *core.Record) (*core.State, error) {
	m, err := core.ReadManifest(r)
	if err != nil {
		return nil, err
	}
	plain, err := ss.cfg.Snapshots.Load(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", m.Object, err)
	}
	return core.Restore(m, plain, r.Base, ss.cfg.Dialects)
}

// loadFirst returns the state at the session's first record, found by reading
// its subject from the beginning.
func (ss *Sessions) loadFirst(ctx context.Context, id core.SessionID, last *core.Record) (*core.State, error) {
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, last.Pos) {
		if err != nil {
			return nil, err
		}
		st := core.NewState(ss.cfg.Log.Name(), id, ss.cfg.Dialects)
		return st, st.Apply(r)
	}
	return nil, fmt.Errorf("first record of session %s: %w", id, core.ErrNotFound)
}

// readOn hands apply the records behind st up to last. A replica that lags is
// asked again until ctx ends.
func (ss *Sessions) readOn(ctx context.Context, st *core.State, last *core.Record, apply func(*core.Record) error) error {
	for st.Pos < last.Pos {
		before := st.Pos
		for r, err := range ss.cfg.Log.Read(ctx, st.ID, st.Pos, last.Pos) {
			if err != nil {
				return err
			}
			if err := apply(r); err != nil {
				return fmt.Errorf("record at %d of session %s: %w", r.Pos, st.ID, err)
			}
		}
		if st.Pos == before {
			if err := pause(ctx); err != nil {
				return fmt.Errorf("session %s: records behind %d do not arrive: %w", st.ID, before, core.ErrUnavailable)
			}
		}
	}
	return nil
}
