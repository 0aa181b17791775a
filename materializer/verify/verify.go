package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// The kinds of damage. Those of records are in package stream.
const (
	Stray    = report.Damage(engine.Orphan)
	Hole     = report.Damage(engine.Gap)
	Record   = report.Damage(engine.Unreadable)
	End      = report.Damage(engine.End)
	Body     = report.Damage(engine.BodyGone)
	Copy     = report.Damage(engine.Copy)
	Snapshot = report.Damage("snapshot") // the latest snapshot is missing, corrupt, or differs from the records
	Blob     = report.Damage("blob")     // an image, or the imported file, is missing or corrupt
	Row      = report.Damage("row")      // the directory has more of the session than the log
	Lost     = report.Damage("lost")     // a snapshot or a row proves records that the log does not have
	Shard    = report.Damage("shard")    // a stream lacks messages that no truncation dropped
)

// Directory is the rows that a Verifier compares with the log. index.Index implements
// it.
type Directory interface {
	// Seq returns the seq of a session's row, 0 if there is none.
	Seq(id core.SessionID) uint64
}

// A Verifier verifies the sessions of one log.
type Verifier struct {
	Log          *stream.Log
	Sessions     *engine.Sessions
	Cache        *materializer.Cache
	Materializer *materializer.Materializer
	Directory    Directory
	Snapshots    *materializer.Snapshots
	Blobs        *blobstore.Blobs
}

// Verify reads everything a session consists of, from where it is stored. It
// returns core.ErrNotFound, or core.ErrUnavailable if the log or the store does not
// answer. What is wrong with the session is in the report.
func (v *Verifier) Verify(ctx context.Context, id core.SessionID) (*report.Verification, error) {
	r, _, err := v.look(ctx, id)
	if err == nil || errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrDeleted) {
		v.Materializer.Guard().SetCorrupt(id, corruption(r, err))
	}
	return r, err
}

// corruption returns why a verified session is corrupt, nil if it is not.
func corruption(r *report.Verification, err error) error {
	if errors.Is(err, core.ErrCorrupt) {
		return err
	}
	if err != nil {
		return nil
	}
	for _, p := range r.Problems {
		if p.Kind != Row && p.Kind != Lost && p.Kind != Stray {
			return fmt.Errorf("%s: %s", p.What, p.Detail)
		}
	}
	return nil
}

func (v *Verifier) look(ctx context.Context, id core.SessionID) (*report.Verification, *engine.Inspection, error) {
	in, err := v.Sessions.Inspect(blobstore.WithoutCache(ctx), id)
	if errors.Is(err, core.ErrNotFound) {
		r := &report.Verification{Session: id, Problems: []report.Problem{}}
		if lerr := v.lost(ctx, r); lerr == nil && len(r.Problems) > 0 {
			return r, &engine.Inspection{}, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	r := &report.Verification{
		Session: id, Records: in.Records, Rewritten: in.Rewritten, Restored: in.Restored, Snapshot: in.Latest,
		Cursor: core.CursorOf(in.Last.Seq, in.Last.Chain), Problems: []report.Problem{},
	}
	v.records(r, in)
	if err := v.snapshot(ctx, r, in); err != nil {
		return nil, nil, err
	}
	if err := v.blobs(ctx, r, in.State); err != nil {
		return nil, nil, err
	}
	if err := v.lost(ctx, r); err != nil {
		return nil, nil, err
	}
	return r, in, v.row(ctx, r, in)
}

func repairCommand(r *report.Verification) string {
	return "sessctl verify --repair " + string(r.Session)
}

// Shards verifies the log's streams, and returns all sessions in them, including
// those that cannot be read and have no row. Losses are problems, too.
func (v *Verifier) Shards(ctx context.Context) (sessions []core.SessionID, problems []report.Problem, err error) {
	sessions, problems = []core.SessionID{}, []report.Problem{}
	for shard := range v.Log.Shards() {
		st, err := v.Log.State(ctx, shard)
		if err != nil {
			return nil, nil, err
		}
		lost, err := v.Lost(ctx, shard, st)
		if err != nil {
			return nil, nil, err
		}
		if lost > 0 {
			problems = append(problems, report.Problem{
				Kind: Shard, What: st.Stream,
				Detail: fmt.Sprintf("%d of its messages are missing", lost), Next: "sessctl verify --all names the sessions they were of",
			})
		}
		ids, err := v.Log.SessionsUpTo(ctx, shard, st.Last)
		if err != nil {
			return nil, nil, err
		}
		sessions = append(sessions, ids...)
	}
	for _, l := range v.Materializer.Guard().Losses() {
		if !slices.Contains(sessions, l.Session) { // the others are verified themselves
			problems = append(problems, lostProblem(&l))
		}
	}
	return sessions, problems, nil
}

// lost adds the loss of a session, which Verify looks for again.
func (v *Verifier) lost(ctx context.Context, r *report.Verification) error {
	g := v.Materializer.Guard()
	if err := g.Examine(ctx, r.Session); err != nil && !errors.Is(err, core.ErrCorrupt) {
		return err
	}
	if l := g.Loss(r.Session); l != nil {
		r.Problems = append(r.Problems, lostProblem(l))
	}
	return nil
}

func lostProblem(l *report.Loss) report.Problem {
	return report.Problem{
		Kind: Lost, What: fmt.Sprintf("session %s after record %d", l.Session, l.End), Detail: l.String(),
		Next: "restore it from a backup, or accept the loss: sessctl verify --accept-loss " + string(l.Session),
	}
}

// Lost returns how many messages of a shard in state st are missing, without those
// of erased or redacted sessions, which were removed on purpose.
func (v *Verifier) Lost(ctx context.Context, shard int, st stream.ShardState) (uint64, error) {
	if st.Missing == 0 {
		return 0, nil
	}
	passed, err := v.Log.Truncated(ctx, shard, st.Last)
	return st.Missing - min(st.Missing, passed), err
}

// records adds what is wrong with records.
func (v *Verifier) records(r *report.Verification, in *engine.Inspection) {
	next := "restore the session from a backup"
	if in.State != nil {
		r.Entries = len(in.State.Entries)
		next = "nothing is lost: a later snapshot covers it"
	}
	for _, f := range in.Faults {
		n := next
		if f.Kind == engine.End {
			n = "the records before it are intact (sessctl backup keeps them); restore the session from a backup"
		}
		if f.Kind == engine.BodyGone && in.State == nil {
			n = "put the blob back from a copy of the object store, or: " + repairCommand(r)
		}
		r.Add(report.Damage(f.Kind), place(f), n, f.Err)
	}
	for _, f := range in.Backfilled {
		r.Add(Copy, place(f), "make that server fetch its copy again: stop it, move the stream's directory aside, start it", f.Err)
	}
	for _, f := range in.Orphans {
		r.Add(Stray, place(f), repairCommand(r), f.Err)
	}
}

func place(f engine.Fault) string {
	if f.Kind == engine.End {
		return fmt.Sprintf("the record after record %d, at %d", f.Seq, f.Pos)
	}
	if f.Seq == 0 {
		return fmt.Sprintf("the message at %d", f.Pos)
	}
	return fmt.Sprintf("record %d, at %d", f.Seq, f.Pos)
}

// snapshot reads the latest snapshot and compares it with the records.
func (v *Verifier) snapshot(ctx context.Context, r *report.Verification, in *engine.Inspection) error {
	m := in.Latest
	if m == nil {
		return nil
	}
	plain, err := v.Snapshots.Read(ctx, m)
	switch {
	case errors.Is(err, core.ErrUnavailable), ctx.Err() != nil:
		return err
	case err != nil:
		next := repairCommand(r)
		if in.State == nil {
			next = "put it back from a copy of the object store"
		}
		r.Add(Snapshot, m.Object, next, err)
	case in.Plain != nil && !bytes.Equal(plain, in.Plain):
		r.Add(Snapshot, m.Object, repairCommand(r), fmt.Errorf("it is intact, but differs from the records: %w", core.ErrCorrupt))
	}
	return nil
}

// blobs reads every blob that the session's lines reference, and the imported file.
func (v *Verifier) blobs(ctx context.Context, r *report.Verification, st *core.State) error {
	if st == nil {
		return nil
	}
	for _, d := range st.Blobs() {
		r.Blobs++
		err := v.Blobs.Check(ctx, blobstore.Ref(d))
		switch {
		case err == nil:
		case !errors.Is(err, blobstore.ErrNotFound) && !errors.Is(err, blobstore.ErrCorrupt):
			return fmt.Errorf("%w: %w", err, core.ErrUnavailable) // which says nothing about the blob
		default:
			r.Add(Blob, d.String(), "put it back from a copy of the object store, or: "+repairCommand(r), err)
		}
	}
	return nil
}

// row compares the row with the log, which may have grown since the inspection.
func (v *Verifier) row(ctx context.Context, r *report.Verification, in *engine.Inspection) error {
	seq := v.Directory.Seq(r.Session)
	if seq <= in.Last.Seq || has(r, End, Lost) {
		return nil
	}
	last, err := v.Log.Last(ctx, r.Session)
	if err != nil {
		return err
	}
	if seq > last.Seq {
		r.Add(Row, "the session's row", repairCommand(r),
			fmt.Errorf("it is of record %d, the log ends at %d: %w", seq, last.Seq, core.ErrLost))
	}
	return nil
}
