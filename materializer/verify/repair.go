package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// Repair repairs what other copies allow, and returns what is still wrong, and what
// was repaired. Orphan lines get a separate head; a snapshot is written again
// from the records; a blob or a body is written again from this node's memory or
// disk, if its digest is right; a row is made again.
func (v *Verifier) Repair(ctx context.Context, id core.SessionID) (left *report.Verification, repaired []report.Problem, err error) {
	before, in, err := v.look(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if len(before.Problems) == 0 {
		return before, []report.Problem{}, nil
	}
	for _, repair := range []func(context.Context, *report.Verification, *engine.Inspection) error{v.repairLoss, v.repairBlobs, v.repairBodies, v.repairState} {
		if err := repair(ctx, before, in); err != nil {
			return nil, nil, err
		}
	}
	left, err = v.Verify(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	repaired = slices.DeleteFunc(slices.Clone(before.Problems), func(p report.Problem) bool {
		return slices.ContainsFunc(left.Problems, func(q report.Problem) bool { return p.Kind == q.Kind && p.What == q.What })
	})
	return left, repaired, nil
}

func has(r *report.Verification, kinds ...report.Damage) bool {
	return slices.ContainsFunc(r.Problems, func(p report.Problem) bool { return slices.Contains(kinds, p.Kind) })
}

// repairLoss stores again what snapshots have and the log has lost.
func (v *Verifier) repairLoss(ctx context.Context, r *report.Verification, _ *engine.Inspection) error {
	if l := v.Materializer.Guard().Loss(r.Session); l != nil {
		return v.Materializer.Heal(ctx, l)
	}
	return nil
}

// AcceptLoss ends the protection of a session of which the log has lost records. It
// returns core.ErrNotFound if there is no loss.
func (v *Verifier) AcceptLoss(ctx context.Context, id core.SessionID) error {
	if err := v.Materializer.Guard().Accept(ctx, id); err != nil {
		return err
	}
	switch s, err := v.Sessions.Open(ctx, id); { // its row may be of lost records
	case err == nil:
		v.Materializer.Remake(s)
	case errors.Is(err, core.ErrNotFound):
		v.Materializer.Forget(id)
	}
	return nil // the loss is accepted; a session that cannot be read is named by Repair
}

// repairBlobs writes blobs again that this node has.
func (v *Verifier) repairBlobs(ctx context.Context, r *report.Verification, in *engine.Inspection) error {
	if !has(r, Blob) {
		return nil
	}
	for _, d := range in.State.Blobs() {
		if v.Blobs.Check(ctx, blobstore.Ref(d)) == nil {
			continue
		}
		b, err := v.Blobs.Get(ctx, blobstore.Ref(d)) // verified; from this node's memory or disk if it is there
		if err != nil {
			continue // it stays in the report
		}
		if err := v.rewrite(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// repairBodies writes bodies again that this node's caches or an open session have.
func (v *Verifier) repairBodies(ctx context.Context, r *report.Verification, in *engine.Inspection) error {
	if !has(r, Body) {
		return nil
	}
	for z, err := range v.Log.Scan(ctx, r.Session, 0, in.Last.Pos) {
		if err != nil {
			break // the report has it
		}
		if b, ok := v.Blobs.Cached(blobstore.Ref(z.Packed.Spill())); ok {
			if err := v.rewrite(ctx, b); err != nil {
				return err
			}
		}
	}
	s, err := v.Cache.Get(ctx, r.Session)
	if err != nil {
		return nil // not in memory
	}
	for _, rec := range s.RecentRecords() {
		if len(rec.Body) < stream.SpillSize { // it was stored in its message
			continue
		}
		if err := v.rewrite(ctx, rec.Body); err != nil {
			return err
		}
	}
	return nil
}

func (v *Verifier) rewrite(ctx context.Context, b []byte) error {
	if _, err := v.Blobs.Rewrite(ctx, b); err != nil {
		return fmt.Errorf("write a blob again: %w: %w", err, core.ErrUnavailable)
	}
	return nil
}

// repairState recovers orphan lines, writes the snapshot and makes the row.
func (v *Verifier) repairState(ctx context.Context, r *report.Verification, _ *engine.Inspection) error {
	if !has(r, Stray, Snapshot, Row) {
		return nil
	}
	s, err := v.Sessions.Open(ctx, r.Session)
	if errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return nil // it cannot be read: the report says why
	}
	if has(r, Stray) {
		if err := s.RecoverOrphans(ctx); err != nil {
			return err
		}
	}
	if has(r, Stray, Snapshot) {
		if _, err := v.Materializer.Checkpoint(ctx, s); err != nil {
			return err
		}
	}
	v.Cache.Put(s)
	v.Materializer.Remake(s)
	return nil
}
