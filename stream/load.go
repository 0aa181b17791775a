package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// loadTries is how often a load starts over when what a base names is not
// there: a checkpoint or a purge may have come between.
const loadTries = 3

// load reads a session from the leader's last record's base up to that record.
// meet sees the records behind the base.
func (ss *Sessions) load(ctx context.Context, id core.SessionID, meet func(*core.Record)) (*core.State, error) {
	var err error
	for range loadTries {
		var last *core.Record
		if last, err = lastOf(ctx, ss.cfg.Log, id); err != nil {
			return nil, err
		}
		if last.Kind == core.KindErase {
			return nil, erased(id, last)
		}
		var st *core.State
		if st, err = ss.loadUpTo(ctx, id, last, meet); err == nil {
			return st, nil
		}
		if !errors.Is(err, core.ErrNotFound) && !errors.Is(err, core.ErrStray) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("session %s is damaged (look with: sessctl verify %s): %v: %w", id, id, err, core.ErrCorrupt)
}

// erased is the error that opens in place of a session that was erased.
func erased(id core.SessionID, last *core.Record) error {
	st := core.State{ID: id, Seq: last.Seq, Erased: &core.Notice{}}
	_ = json.Unmarshal(last.Body, st.Erased) // who and when, as far as it says
	return st.Writable()
}

func (ss *Sessions) loadUpTo(ctx context.Context, id core.SessionID, last *core.Record, meet func(*core.Record)) (*core.State, error) {
	base, err := ss.baseOf(ctx, id, last)
	if err == nil {
		var st *core.State
		if st, err = ss.loadFrom(ctx, id, base, last, meet); err == nil {
			return st, nil
		}
	}
	if ctx.Err() != nil {
		return nil, err
	}
	st, ok := ss.loadOlder(ctx, id, last, meet)
	if !ok {
		return nil, err
	}
	ss.cfg.Logger.Warn("session read from an older record, its base cannot be used",
		"session", id, "base", last.Base, "err", err)
	return st, nil
}

// baseOf returns the base of the session's last record.
func (ss *Sessions) baseOf(ctx context.Context, id core.SessionID, last *core.Record) (*core.Record, error) {
	at := last.Base
	if last.Kind == core.KindOpen || last.Kind == core.KindCheckpoint {
		if len(last.Body) > 0 {
			return last, nil
		}
		at = last.Pos
	}
	base, err := ss.cfg.Log.At(ctx, id, at)
	if err != nil {
		return nil, fmt.Errorf("base of record %d: %w", last.Seq, err)
	}
	return base, nil
}

// loadOlder loads the session from the youngest base that can still be used,
// found by reading its subject from the beginning. Nothing is lost while the
// records behind an older snapshot, or all of them, are still there.
func (ss *Sessions) loadOlder(ctx context.Context, id core.SessionID, last *core.Record, meet func(*core.Record)) (*core.State, bool) {
	var bases []*core.Record
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, last.Pos) {
		if err != nil {
			return nil, false
		}
		if r.Kind == core.KindOpen || r.Kind == core.KindCheckpoint {
			bases = append(bases, r)
		}
	}
	for _, base := range slices.Backward(bases) {
		if st, err := ss.loadFrom(ctx, id, base, last, meet); err == nil {
			return st, true
		}
	}
	return nil, false
}

// loadFrom returns the state at last, read from base on.
func (ss *Sessions) loadFrom(ctx context.Context, id core.SessionID, base, last *core.Record, meet func(*core.Record)) (*core.State, error) {
	st, err := ss.loadBase(ctx, id, base)
	if err != nil {
		return nil, err
	}
	err = ss.readOn(ctx, st, last, func(r *core.Record) error {
		if err := st.Apply(r); err != nil {
			return err
		}
		meet(r)
		return nil
	})
	return st, err
}

// loadBase returns the state that base stands for.
func (ss *Sessions) loadBase(ctx context.Context, id core.SessionID, base *core.Record) (*core.State, error) {
	switch base.Kind {
	case core.KindOpen:
		st := core.NewState(ss.cfg.Log.Name(), id, ss.cfg.Dialects)
		return st, st.Apply(base)
	case core.KindCheckpoint:
		return ss.loadCheckpoint(ctx, id, base)
	}
	return nil, fmt.Errorf("record %d, of kind %q, is no base: %w", base.Seq, base.Kind, core.ErrCorrupt)
}

func (ss *Sessions) loadCheckpoint(ctx context.Context, id core.SessionID, r *core.Record) (*core.State, error) {
	m, err := core.ReadManifest(r)
	if err != nil {
		return nil, err
	}
	if m.Session != id || m.Log != ss.cfg.Log.Name() {
		return nil, fmt.Errorf("checkpoint record %d speaks of session %q in log %q: %w", r.Seq, m.Session, m.Log, core.ErrCorrupt)
	}
	plain, checked, err := ss.cfg.Snapshots.Load(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", m.Object, err)
	}
	st, err := core.RestoreChecked(m, plain, r.Base, ss.cfg.Dialects)
	if other := checked(); other != nil {
		return nil, other
	}
	return st, err
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
