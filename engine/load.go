package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// maxLoads is how often a load starts again if a base is missing or damaged: a
// checkpoint, a truncation or a loss may have happened meanwhile.
const maxLoads = 3

// load reads a session from the base of the leader's last record up to that record.
func (ss *Sessions) load(ctx context.Context, id core.SessionID) (view, error) {
	var err error
	inPart := false
	for range maxLoads {
		var last *core.Record
		if last, err = ss.lastOf(ctx, id); err != nil {
			return view{}, withAdvice(id, err)
		}
		if last.Kind == core.KindErase {
			return view{}, erased(id, last)
		}
		inPart = last.Base == 0 && last.Kind != core.KindOpen && last.Kind != core.KindCheckpoint // see Restore
		var v view
		if v, err = ss.loadUpTo(ctx, id, last); err == nil {
			ss.lost.noteOrphans(ss.cfg.Logger, &v)
			return v, nil
		}
		if !isDamage(err) {
			return view{}, err
		}
	}
	if inPart {
		return view{}, fmt.Errorf("session %s is incomplete: its restore is running, or must be repeated: %v: %w", id, err, core.ErrCorrupt)
	}
	return view{}, fmt.Errorf("session %s is damaged (look with: sessctl verify %s): %v: %w", id, id, err, core.ErrCorrupt)
}

// withAdvice adds what to do about damage to the end of a session.
func withAdvice(id core.SessionID, err error) error {
	if _, atEnd := errors.AsType[*storage.EndError](err); atEnd {
		return fmt.Errorf("%w (look with: sessctl verify %s)", err, id)
	}
	return err
}

// lastOf returns the session's last record. A new or cut-off leader may not know a
// session that other servers have: it is asked again, and the final error is
// core.ErrUnavailable instead of core.ErrNotFound.
func (ss *Sessions) lastOf(ctx context.Context, id core.SessionID) (*core.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, ss.cfg.RetryTimeout)
	defer cancel()
	for {
		last, err := ss.cfg.Log.LastLink(ctx, id)
		if !errors.Is(err, core.ErrNotFound) || !ss.existsOnAnyReplica(ctx, id) {
			return last, err
		}
		if retry.Pause(ctx) != nil {
			return nil, fmt.Errorf("session %s exists, but the leader of its stream does not know it: %w", id, core.ErrUnavailable)
		}
	}
}

// existsOnAnyReplica reports whether an arbitrary server has a record of the
// session.
func (ss *Sessions) existsOnAnyReplica(ctx context.Context, id core.SessionID) bool {
	for range 2 {
		for _, err := range ss.cfg.Log.Read(ctx, id, 0, math.MaxInt64) {
			return err == nil || !errors.Is(err, core.ErrUnavailable)
		}
	}
	return false
}

// erased returns the error for opening an erased session.
func erased(id core.SessionID, last *core.Record) error {
	st := core.State{ID: id, Seq: last.Seq, Erased: &core.Notice{}}
	_ = json.Unmarshal(last.Body, st.Erased) // who and when, as far as it says
	return st.CheckWritable()
}

func (ss *Sessions) loadUpTo(ctx context.Context, id core.SessionID, last *core.Record) (view, error) {
	base, err := ss.baseOf(ctx, id, last)
	if err == nil {
		var v view
		if v, err = ss.loadFrom(ctx, id, base, last); err == nil {
			return v, nil
		}
	}
	if ctx.Err() != nil {
		return view{}, err
	}
	v, ok := ss.loadFromOlderBase(ctx, id, last)
	if !ok {
		return view{}, err
	}
	ss.cfg.Logger.Warn("read the session from an older record: its base cannot be used",
		"session", id, "base", last.Base, "err", err)
	return v, nil
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
	base, err := atAnyLeader(ctx, ss.cfg.Log, id, at)
	if err != nil {
		return nil, fmt.Errorf("base of record %d: %w", last.Seq, err)
	}
	return base, nil
}

// loadFromOlderBase loads the session from the latest usable base, which it finds by
// reading all records. Nothing is lost as long as the records after it exist.
func (ss *Sessions) loadFromOlderBase(ctx context.Context, id core.SessionID, last *core.Record) (view, bool) {
	var bases []*core.Record
	for r, err := range ss.cfg.Log.Read(ctx, id, 0, last.Pos) {
		if err != nil {
			return view{}, false
		}
		if r.Kind == core.KindOpen || r.Kind == core.KindCheckpoint {
			bases = append(bases, r)
		}
	}
	for _, base := range slices.Backward(bases) {
		if v, err := ss.loadFrom(ctx, id, base, last); err == nil {
			return v, true
		}
	}
	return view{}, false
}

// loadFrom returns the session at last, read from base on.
func (ss *Sessions) loadFrom(ctx context.Context, id core.SessionID, base, last *core.Record) (view, error) {
	v, err := ss.loadBase(ctx, id, base)
	if err != nil {
		return view{}, err
	}
	return v, ss.readAfter(ctx, &v, last, v.read)
}

// loadBase returns the session that base stands for.
func (ss *Sessions) loadBase(ctx context.Context, id core.SessionID, base *core.Record) (view, error) {
	switch base.Kind {
	case core.KindOpen:
		v := view{st: core.NewState(ss.cfg.Log.Name(), id, ss.cfg.Dialects)}
		return v, v.fold(base)
	case core.KindCheckpoint:
		if err := ss.checkFollows(ctx, id, base); err != nil {
			return view{}, err
		}
		st, m, err := ss.loadCheckpoint(ctx, id, base)
		if err != nil {
			return view{}, err
		}
		return view{st: st, end: mark{st.Pos, st.Chain}, base: m}, nil
	}
	return view{}, fmt.Errorf("record %d, of kind %q, is not a base: %w", base.Seq, base.Kind, core.ErrCorrupt)
}

// maxOrphans is how many orphans may precede a checkpoint that is not one.
const maxOrphans = 1000

// checkFollows returns core.ErrOrphan if r is an orphan: its snapshot is then not
// what the log holds. A record follows the previous one that is not an orphan. If
// that was truncated, the truncation has proved it.
func (ss *Sessions) checkFollows(ctx context.Context, id core.SessionID, r *core.Record) error {
	at := r.After
	for range maxOrphans {
		before, err := ss.predecessor(ctx, r, id, at)
		if err != nil || before == nil {
			return err
		}
		if before.Chain.Next(r) == r.Chain {
			return nil
		}
		if before.After == 0 || before.After >= at { // the first record
			break
		}
		at = before.After
	}
	return fmt.Errorf("%s record %d, at %d, is an orphan: %w", r.Kind, r.Seq, r.Pos, core.ErrOrphan)
}

func (ss *Sessions) loadCheckpoint(ctx context.Context, id core.SessionID, r *core.Record) (*core.State, *core.Manifest, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, nil, err
	}
	if m.Session != id || m.Log != ss.cfg.Log.Name() {
		return nil, nil, fmt.Errorf("checkpoint record %d is for session %q in log %q: %w", r.Seq, m.Session, m.Log, core.ErrCorrupt)
	}
	if err := m.Known(); err != nil {
		return nil, nil, err
	}
	m.Window = nil // for those who do not read the snapshot
	plain, checked, err := ss.cfg.Snapshots.Load(ctx, m)
	if err != nil {
		return nil, nil, fmt.Errorf("snapshot %s: %w", m.Object, err)
	}
	st, err := core.Restore(m, plain, r.Base, ss.cfg.Dialects)
	if other := checked(); other != nil {
		return nil, nil, other
	}
	return st, m, err
}

// readAfter passes the records after v up to last to apply. It retries a replica
// that lags until ctx ends. If last was truncated meanwhile, the error is both
// errMissingRecord and core.ErrUnavailable: another attempt reads what is there now.
func (ss *Sessions) readAfter(ctx context.Context, v *view, last *core.Record, apply func(*core.Record) error) error {
	id := v.st.ID
	for idle := 0; v.end.pos < last.Pos; {
		before := v.end.pos
		for r, err := range readUpTo(ctx, ss.cfg.Log, id, before, last.Pos, idle) {
			if err != nil {
				return err
			}
			if err := apply(r); err != nil {
				return fmt.Errorf("record at %d of session %s: %w", r.Pos, id, err)
			}
		}
		if v.end.pos > before {
			idle = 0
			continue
		}
		if idle++; retry.Pause(ctx) != nil {
			return fmt.Errorf("session %s: records after %d cannot be read: %w", id, before, core.ErrUnavailable)
		}
		if idle%(2*idleReads) == 0 && ss.isTruncated(ctx, id, last) {
			return fmt.Errorf("record %d, at %d, was truncated: %w: %w", last.Seq, last.Pos, errMissingRecord, core.ErrUnavailable)
		}
	}
	return nil
}

// Has returns nil if the log has a record of the session, even if it is in the trash
// or erased, and core.ErrNotFound otherwise.
func (ss *Sessions) Has(ctx context.Context, id core.SessionID) error {
	_, err := ss.lastOf(ctx, id)
	return err
}
