package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

// An Inspection is what the records of a session are worth, each read and held
// to the one before it.
type Inspection struct {
	Records    int          // that are there
	Redone     int          // of them, stored a second time because the log had lost them
	Restored   int          // of them, put there from a backup
	Orphans    []Fault      // records that follow no other
	Faults     []Fault      // what is missing or cannot be read, in the order it was met
	Backfilled []Fault      // records that the copy of the log that was read lacks, and another has
	State      *core.State  // as a reader gets it; nil where none can
	Last       *core.Record // without its body, where that is spilled
	// Latest is the manifest of the last checkpoint, nil where there is none.
	// Plain is the canonical JSONL that the records come to where it stands; nil
	// where those before it are dropped, or harmed.
	Latest *core.Manifest
	Plain  []byte
}

// A Fault is one thing wrong with a session's records.
type Fault struct {
	Kind FaultKind
	Pos  core.Pos // of the record, or of the one behind what is missing
	Seq  uint64   // the same, 0 where it cannot be told
	Err  error
}

// A FaultKind names a kind of damage.
type FaultKind string

// The kinds of damage to records.
const (
	Orphan     FaultKind = "stray"  // a record whose writer knew a past that the log has lost
	Gap        FaultKind = "hole"   // records are missing
	Unreadable FaultKind = "record" // a message is no record
	BodyGone   FaultKind = "body"   // a record's body, kept as a blob, is gone or other bytes
	Copy       FaultKind = "copy"   // one server's copy of the log lacks a record that another has
)

// Inspect reads every record of a session that the log still has. Damage is in
// the Inspection; the error is that of the log, such as core.ErrUnavailable or
// core.ErrNotFound.
func (ss *Sessions) Inspect(ctx context.Context, id core.SessionID) (*Inspection, error) {
	last, err := ss.cfg.Log.LastLink(ctx, id)
	if bad, ok := errors.AsType[*core.RecordError](err); ok {
		last, err = &core.Record{Pos: bad.Pos}, nil // the walk names it
	}
	if err != nil {
		return nil, err
	}
	in := &inspector{ss: ss, id: id, last: last, Inspection: Inspection{Last: last}}
	if err := in.walk(ctx, 0); err != nil {
		return nil, err
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
	case last.Kind == core.KindErase, isDamage(err):
	default:
		return nil, err
	}
	if err != nil && len(in.Faults) == 0 && last.Kind != core.KindErase {
		in.Faults = append(in.Faults, Fault{Unreadable, last.Pos, last.Seq, err})
	}
	return &in.Inspection, nil
}

// isDamage tells what is wrong with a session from what is wrong with the log.
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
	first core.Kind // of the first record there is
	v     *view     // nil before a base was met, and behind damage
}

// walk reads the records up to seq, or all where it is 0.
func (in *inspector) walk(ctx context.Context, upTo uint64) error {
	at := core.Pos(0)
	for idle := 0; at < in.last.Pos; {
		before := at
		for r, err := range readUpTo(ctx, in.ss.cfg.Log, in.id, at, in.last.Pos, idle) {
			bad, ok := errors.AsType[*core.RecordError](err)
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
			return fmt.Errorf("session %s: records behind %d do not arrive: %w", in.id, at, core.ErrUnavailable)
		}
	}
	return nil
}

func (in *inspector) unreadable(bad *core.RecordError) {
	kind := Unreadable
	if errors.Is(bad.Err, core.ErrBody) {
		kind = BodyGone
	}
	in.Records++
	in.Faults = append(in.Faults, Fault{Kind: kind, Pos: bad.Pos, Err: bad.Err})
	in.v = nil
}

// take holds r to the record before it. Behind damage, and where the log was
// truncated, a checkpoint is where the walk goes on.
func (in *inspector) take(ctx context.Context, r *core.Record) error {
	in.Records++
	if in.first == "" {
		in.first = r.Kind
	}
	switch {
	case r.Redo && r.Restored:
		in.Restored++
	case r.Redo:
		in.Redone++
	}
	if r.Lent {
		in.Backfilled = append(in.Backfilled, Fault{Copy, r.Pos, r.Seq, fmt.Errorf("the copy of the log that was read lacks it, another has it: %w", core.ErrLost)})
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
		in.Orphans = append(in.Orphans, Fault{Orphan, r.Pos, r.Seq, fmt.Errorf("a record of writer %s that follows none of the log's: %w", r.Writer, core.ErrOrphan)})
		return nil
	}
	return in.note(r)
}

// begin makes a view of r where it is a base that can be used.
func (in *inspector) begin(ctx context.Context, r *core.Record) error {
	if r.Kind != core.KindOpen && r.Kind != core.KindCheckpoint {
		return nil
	}
	v, err := in.ss.loadBase(ctx, in.id, r)
	if err != nil && !isDamage(err) {
		return err
	}
	if err != nil {
		return nil // a snapshot that cannot be used is named by whoever looks at snapshots
	}
	if r.Kind == core.KindCheckpoint { // what it covers ends before records that were read by now
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
	m, err := core.ReadManifest(r)
	in.Latest = m
	return err
}

// render walks once more, to where the latest snapshot stands.
func (in *inspector) render(ctx context.Context) ([]byte, error) {
	again := &inspector{ss: in.ss, id: in.id, last: in.last}
	if err := again.walk(ctx, in.Latest.Seq); err != nil || again.v == nil || again.v.st.Seq != in.Latest.Seq {
		return nil, err
	}
	return again.v.st.Render(), nil
}
