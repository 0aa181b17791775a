package backup

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/core/report"
)

// Restored is the result of restoring one session.
type Restored struct {
	Session core.SessionID `json:"session"`
	// Comparison is how the log compared with the backup before the restore.
	report.Comparison
	Stored   int           `json:"stored"`   // number of records
	Blobs    int           `json:"blobs"`    // number of blobs that the node lacked
	Snapshot bool          `json:"snapshot"` // whether the snapshot was restored
	Missing  []core.Digest `json:"missing,omitempty"`
}

// A Restorer restores sessions of a run into a node's log.
type Restorer struct {
	Node *client.Client
	Repo *Repo
	Run  *Run
	Dry  bool // read and compare everything, store nothing
}

// Restore restores a session. If the log has the same records, or more, it keeps
// them; blobs and a snapshot that the node lost are restored. If the session has
// diverged in the log, or was erased there, Restore stores nothing and returns
// core.ErrConflict or core.ErrDeleted. It is idempotent.
func (r *Restorer) Restore(ctx context.Context, s *Session) (*Restored, error) {
	h, err := r.Repo.History(ctx, r.Run.Log, s)
	if err != nil {
		return nil, err
	}
	plan := api.RestorePlan{Log: r.Run.Log, Seq: s.BaseSeq, Chain: s.Base, Snapshot: h.Snapshot}
	for _, rec := range h.Records {
		plan.Steps = append(plan.Steps, report.Step{Seq: rec.Seq, Chain: rec.Chain, Kind: rec.Kind})
	}
	planned, err := r.Node.PlanRestore(ctx, string(s.ID), plan)
	if err != nil {
		return nil, err
	}
	out := &Restored{Session: s.ID, Comparison: planned.Comparison, Missing: s.Missing}
	if err := planned.Err(s.ID); err != nil {
		return out, err
	}
	if planned.Relation == report.Ahead { // it may use other blobs and another snapshot now
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
	if planned.Relation == report.Same {
		return out, nil
	}
	return out, r.records(ctx, h, out)
}

// do calls f, which changes the log, unless this is a dry run.
func (r *Restorer) do(f func() error) error {
	if r.Dry {
		return nil
	}
	return f()
}

// blobs restores the blobs that the node lacks.
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
			return fmt.Errorf("the node requests blob %s, which session %s does not have: %w", w.Digest, out.Session, core.ErrInvalid)
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

// records restores the records that the log lacks.
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
// according to the latest run in the Repo.
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
		if s := &run.Sessions[i]; s.Erased { // the erase is in this backup, too
			delete(erased, s.ID)
		}
	}
	return erased, nil
}
