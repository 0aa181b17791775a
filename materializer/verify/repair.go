package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// Repair mends what another copy can mend, and returns what is still wrong
// then, and what was mended. Lines of strays are adopted to heads of their own;
// a snapshot is written anew from the records; a blob or a body is written again
// from this node's memory or disk, if its digest is the right one; a row is made again.
func (v *Verifier) Repair(ctx context.Context, id core.SessionID) (left *Report, mended []Problem, err error) {
	before, in, err := v.look(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if len(before.Problems) == 0 {
		return before, []Problem{}, nil
	}
	for _, mend := range []func(context.Context, *Report, *engine.Inspection) error{v.mendBlobs, v.mendBodies, v.mendState} {
		if err := mend(ctx, before, in); err != nil {
			return nil, nil, err
		}
	}
	left, err = v.Verify(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	mended = slices.DeleteFunc(slices.Clone(before.Problems), func(p Problem) bool {
		return slices.ContainsFunc(left.Problems, func(q Problem) bool { return p.Kind == q.Kind && p.What == q.What })
	})
	return left, mended, nil
}

func (r *Report) has(kinds ...Kind) bool {
	return slices.ContainsFunc(r.Problems, func(p Problem) bool { return slices.Contains(kinds, p.Kind) })
}

// mendBlobs writes blobs again that this node remembers.
func (v *Verifier) mendBlobs(ctx context.Context, r *Report, in *engine.Inspection) error {
	if !r.has(Blob) {
		return nil
	}
	for _, d := range in.State.Blobs() {
		if v.Blobs.Check(ctx, blobstore.Ref(d)) == nil {
			continue
		}
		b, err := v.Blobs.Get(ctx, blobstore.Ref(d)) // checked, from memory or disk here if it is there
		if err != nil {
			continue // it stays in the report
		}
		if err := v.rewrite(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// mendBodies writes bodies again that an open session remembers.
func (v *Verifier) mendBodies(ctx context.Context, r *Report, _ *engine.Inspection) error {
	if !r.has(Body) {
		return nil
	}
	s, err := v.Cache.Get(ctx, r.Session)
	if err != nil {
		return nil // nobody remembers
	}
	for _, rec := range s.Known() {
		if len(rec.Body) < stream.SpillSize { // it travelled in its message
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

// mendState adopts strays, writes the snapshot and makes the row.
func (v *Verifier) mendState(ctx context.Context, r *Report, _ *engine.Inspection) error {
	if !r.has(Stray, Snapshot, Row) {
		return nil
	}
	s, err := v.Sessions.Open(ctx, r.Session)
	if errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return nil // it cannot be read: the report says why
	}
	if r.has(Stray) {
		if err := s.Adopt(ctx); err != nil {
			return err
		}
	}
	if r.has(Stray, Snapshot) {
		if _, err := v.Materializer.Checkpoint(ctx, s); err != nil {
			return err
		}
	}
	v.Cache.Put(s)
	v.Materializer.Remake(s)
	return nil
}
