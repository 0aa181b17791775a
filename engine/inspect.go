package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/retry"
)

// Inspection is the result of reading and verifying every record of a session.
type Inspection struct {
	Records    int          // that exist
	Rewritten  int          // stored again because the log had lost them
	Restored   int          // stored from a backup
	Orphans    []Fault      // records that do not follow the previous one
	Faults     []Fault      // missing or unreadable records, in order
	Backfilled []Fault      // records that one replica lacks and another has
	State      *core.State  // as a reader gets it; nil if it cannot be loaded
	Last       *core.Record // without its body, if that is a blob
	// Latest is the manifest of the last checkpoint, or nil. Plain is the canonical JSONL of
	// the records up to what it covers; nil if those are truncated or damaged.
	Latest *core.Manifest
	Plain  []byte
}

// Fault is one thing wrong with a session's records.
type Fault struct {
	Kind FaultKind
	Pos  core.Pos // of the record, or of the one after the missing records
	Seq  uint64   // likewise; 0 if unknown
	Err  error
}

// FaultKind names a kind of damage.
type FaultKind string

// The kinds of damage to records.
const (
	Orphan     FaultKind = "stray"  // a record that follows one that the log has lost
	Gap        FaultKind = "hole"   // records are missing
	Unreadable FaultKind = "record" // a message that is not a record
	End        FaultKind = "end"    // the last record cannot be read; Pos and Seq are of the one before
	BodyGone   FaultKind = "body"   // the blob of a record's body is missing or corrupt
	Copy       FaultKind = "copy"   // one replica lacks a record that another has
)

// Inspect reads every record of a session that the log still has. Damage is in
// the Inspection; the error is that of the log, such as core.ErrUnavailable or
// core.ErrNotFound. It starts again if what it was to read last is truncated
// meanwhile.
func (ss *Sessions) Inspect(ctx context.Context, id core.SessionID) (in *Inspection, err error) {
	for range maxLoads {
		if in, err = ss.inspect(ctx, id); !errors.Is(err, errMissingRecord) {
			return in, err
		}
	}
	return nil, fmt.Errorf("session %s is truncated faster than it can be read: %w", id, core.ErrUnavailable)
}

func (ss *Sessions) inspect(ctx context.Context, id core.SessionID) (*Inspection, error) {
	last, err := ss.cfg.Log.LastLink(ctx, id)
	end, atEnd := errors.AsType[*storage.EndError](err)
	if bad, ok := errors.AsType[*storage.RecordError](err); ok {
		last, err = &core.Record{Pos: bad.Pos}, nil // walk reports it
	} else if atEnd {
		last, err = ss.beforeDamage(ctx, id, end)
	}
	if err != nil {
		return nil, err
	}
	in := &inspector{ss: ss, id: id, last: last, Inspection: Inspection{Last: last}}
	if err := in.walk(ctx, 0); err != nil {
		return nil, err
	}
	if atEnd {
		in.Faults = append(in.Faults, Fault{End, last.Pos, last.Seq, end})
	}
	if in.Latest != nil && in.v != nil && in.first == core.KindOpen {
		if in.Plain, err = in.render(ctx); err != nil {
			return nil, err
		}
	}
	v, err := ss.loadUpTo(ctx, id, last)
	switch {
	case err == nil:
		in.State = v.st
	case isDamage(err) && ss.isTruncated(ctx, id, last):
		return nil, errMissingRecord
	case last.Kind == core.KindErase, isDamage(err):
	default:
		return nil, err
	}
	if err != nil && len(in.Faults) == 0 && last.Kind != core.KindErase {
		in.Faults = append(in.Faults, Fault{Unreadable, last.Pos, last.Seq, err})
	}
	return &in.Inspection, nil
}

// beforeDamage returns the last record that can be read.
func (ss *Sessions) beforeDamage(ctx context.Context, id core.SessionID, end *storage.EndError) (*core.Record, error) {
	if end.After == 0 {
		return &core.Record{}, nil
	}
	return ss.cfg.Log.LinkAt(ctx, id, end.After)
}

// isDamage distinguishes a damaged session from a failing log.
func isDamage(err error) bool {
	for _, damage := range []error{core.ErrCorrupt, core.ErrNotFound, core.ErrOrphan, errMissingRecord} {
		if errors.Is(err, damage) {
			return true
		}
	}
	return false
}

type inspector struct {
	Inspection
	ss    *Sessions
	id    core.SessionID
	last  *core.Record
	first core.Kind // of the first record
	v     *view     // nil before the first base, and after damage
}

// walk reads the records up to seq, or all if it is 0.
func (in *inspector) walk(ctx context.Context, upTo uint64) error {
	at := core.Pos(0)
	for idle := 0; at < in.last.Pos; {
		before := at
		for r, err := range readUpTo(ctx, in.ss.cfg.Log, in.id, at, in.last.Pos, idle) {
			bad, ok := errors.AsType[*storage.RecordError](err)
			if ok && bad.Pos > at {
				in.unreadable(bad)
				at = bad.Pos
				break
			}
			if err != nil {
				return err
			}
			at = r.Pos
			if err := in.take(ctx, r); err != nil {
				return err
			}
			if in.v != nil && in.v.st.Seq == upTo {
				return nil
			}
		}
		if at > before {
			idle = 0
			continue
		}
		if idle++; retry.Pause(ctx) != nil {
			return fmt.Errorf("session %s: records after %d cannot be read: %w", in.id, at, core.ErrUnavailable)
		}
		if idle%(2*idleReads) == 0 && in.ss.isTruncated(ctx, in.id, in.last) {
			return errMissingRecord
		}
	}
	return nil
}

func (in *inspector) unreadable(bad *storage.RecordError) {
	kind := Unreadable
	if errors.Is(bad.Err, storage.ErrBody) {
		kind = BodyGone
	}
	in.Records++
	in.Faults = append(in.Faults, Fault{Kind: kind, Pos: bad.Pos, Err: bad.Err})
	in.v = nil
}

// take verifies r against the record before it. After damage, and after a
// truncation, it continues from the next checkpoint.
func (in *inspector) take(ctx context.Context, r *core.Record) error {
	in.Records++
	if in.first == "" {
		in.first = r.Kind
	}
	switch {
	case r.Redo && r.Restored:
		in.Restored++
	case r.Redo:
		in.Rewritten++
	}
	if r.Backfilled {
		in.Backfilled = append(in.Backfilled, Fault{Copy, r.Pos, r.Seq, fmt.Errorf("one replica of the log lacks it, another has it: %w", core.ErrLost)})
	}
	if in.v == nil {
		return in.begin(ctx, r)
	}
	strays := len(in.v.orphans)
	err := in.v.read(r)
	switch {
	case errors.Is(err, errMissingRecord):
		in.Faults = append(in.Faults, Fault{Gap, r.Pos, r.Seq, err})
		in.v = nil
		return in.begin(ctx, r)
	case err != nil:
		in.Faults = append(in.Faults, Fault{Unreadable, r.Pos, r.Seq, err})
		in.v = nil
		return nil
	case len(in.v.orphans) > strays:
		in.Orphans = append(in.Orphans, Fault{Orphan, r.Pos, r.Seq, fmt.Errorf("a record of writer %s does not follow the previous one: %w", r.Writer, core.ErrOrphan)})
		return nil
	}
	return in.note(r)
}

// begin starts a view at r if it is a usable base.
func (in *inspector) begin(ctx context.Context, r *core.Record) error {
	if r.Kind != core.KindOpen && r.Kind != core.KindCheckpoint {
		return nil
	}
	v, err := in.ss.loadBase(ctx, in.id, r)
	if err != nil && !isDamage(err) {
		return err
	}
	if err != nil {
		return nil // the check of snapshots reports it
	}
	if r.Kind == core.KindCheckpoint { // it may cover less than was read
		if err := in.ss.readAfter(ctx, &v, r, v.read); err != nil {
			if isDamage(err) {
				return nil
			}
			return err
		}
	}
	in.v = &v
	return in.note(r)
}

func (in *inspector) note(r *core.Record) error {
	if r.Kind != core.KindCheckpoint {
		return nil
	}
	m, err := r.Manifest()
	in.Latest = m
	return err
}

// render reads the records again, up to what the latest snapshot covers.
func (in *inspector) render(ctx context.Context) ([]byte, error) {
	again := &inspector{ss: in.ss, id: in.id, last: in.last}
	if err := again.walk(ctx, in.Latest.Seq); err != nil || again.v == nil || again.v.st.Seq != in.Latest.Seq {
		return nil, err
	}
	return again.v.st.Render(), nil
}
