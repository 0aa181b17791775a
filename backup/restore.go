package backup

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

// A Restored says what became of one session.
type Restored struct {
	Session core.SessionID `json:"session"`
	// How the log stood to the backup before, and where.
	api.Comparison
	Stored   int           `json:"stored"`   // records
	Blobs    int           `json:"blobs"`    // that the node had not, or not sound
	Snapshot bool          `json:"snapshot"` // it was put back
	Missing  []core.Digest `json:"missing,omitempty"`
}

// A Restorer brings sessions of a run back into a node's log.
type Restorer struct {
	Node *api.Client
	Repo *Repo
	Run  *Run
	// Dry has everything read and compared, and nothing stored.
	Dry bool
}

// Restore brings a session back. One that the log has with the same records, or
// with more, keeps them; blobs and a snapshot that the node lost are put back. One
// that went another way in the log, or was erased there, is an error that is
// core.ErrConflict or core.ErrDeleted, and nothing of it is stored. It may be
// repeated.
func (r *Restorer) Restore(ctx context.Context, s *Session) (*Restored, error) {
	h, err := r.Repo.History(ctx, r.Run.Log, s)
	if err != nil {
		return nil, err
	}
	plan := api.RestorePlan{Log: r.Run.Log, Seq: s.BaseSeq, Chain: s.Base, Snapshot: h.Snapshot}
	for _, rec := range h.Records {
		plan.Steps = append(plan.Steps, api.RestoreStep{Seq: rec.Seq, Chain: rec.Chain, Kind: rec.Kind})
	}
	planned, err := r.Node.PlanRestore(ctx, string(s.ID), plan)
	if err != nil {
		return nil, err
	}
	out := &Restored{Session: s.ID, Comparison: planned.Comparison, Missing: s.Missing}
	if err := planned.Err(s.ID); err != nil {
		return out, err
	}
	if planned.Standing == api.Ahead { // its blobs and its snapshot are not those of the backup any more
		return out, nil
	}
	if err := r.blobs(ctx, h, out); err != nil {
		return out, err
	}
	if planned.WantsSnapshot {
		out.Snapshot = true
		if err := r.do(func() error { return r.Node.RestoreSnapshot(ctx, h.Snapshot, h.Packed) }); err != nil {
			return out, err
		}
	}
	if planned.Standing == api.Same {
		return out, nil
	}
	return out, r.records(ctx, h, out)
}

// do does what changes something, unless nothing is to be changed.
func (r *Restorer) do(f func() error) error {
	if r.Dry {
		return nil
	}
	return f()
}

// blobs puts back the blobs that the node lacks.
func (r *Restorer) blobs(ctx context.Context, h *History, out *Restored) error {
	var all []api.BlobWant
	for _, p := range h.Blobs {
		all = append(all, api.BlobWant(p))
	}
	wanted, err := r.Node.WantedBlobs(ctx, all)
	if err != nil {
		return err
	}
	for _, w := range wanted {
		if !slices.Contains(h.Blobs, Part(w)) {
			return fmt.Errorf("the node asks for blob %s, which session %s does not name: %w", w.Digest, out.Session, core.ErrInvalid)
		}
		b, err := r.Repo.Get(ctx, Part(w))
		if err != nil {
			return fmt.Errorf("session %s: blob: %w", out.Session, err)
		}
		if err := r.do(func() error { return r.Node.RestoreBlob(ctx, b) }); err != nil {
			return err
		}
		out.Blobs++
	}
	return nil
}

// records puts back the records that the log lacks.
func (r *Restorer) records(ctx context.Context, h *History, out *Restored) error {
	s := h.Session
	var buf bytes.Buffer
	for _, rec := range h.Records {
		if err := recordio.Write(&buf, rec); err != nil {
			return err
		}
	}
	return r.do(func() error {
		head := api.RestoreHead{Log: r.Run.Log, Seq: s.BaseSeq, Chain: s.Base, Without: s.Missing}
		done, err := r.Node.Restore(ctx, string(s.ID), head, buf.Bytes())
		if err == nil {
			out.Stored, out.Comparison = done.Stored, done.Comparison
		}
		return err
	})
}

// ErasedSince returns the sessions that were erased from the log after the run,
// as the latest one in the Repo knows.
func (r *Repo) ErasedSince(ctx context.Context, run *Run) (map[core.SessionID]bool, error) {
	latest, err := r.Pick(ctx, "")
	if err != nil {
		return nil, err
	}
	erased := map[core.SessionID]bool{}
	for i := range latest.Sessions {
		if s := &latest.Sessions[i]; s.Erased {
			erased[s.ID] = true
		}
	}
	for i := range run.Sessions {
		if s := &run.Sessions[i]; s.Erased { // which is all that there is to bring back
			delete(erased, s.ID)
		}
	}
	return erased, nil
}
