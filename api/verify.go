package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// verify reads all of a session anew, from its first record, and compares what
// it comes to with what there is.
func (s *Server) verify(w http.ResponseWriter, r *http.Request) error {
	id, err := core.ParseSessionID(r.PathValue("id"))
	if err != nil {
		return err
	}
	last, err := s.cfg.Log.Last(r.Context(), id)
	if err != nil {
		return err
	}
	v := &verifier{server: s, report: Report{Session: id, Cursor: core.CursorOf(last.Seq, last.Chain), Problems: []Problem{}}}
	if err := v.run(r.Context(), last); err != nil {
		return err
	}
	return answer(w, http.StatusOK, v.report)
}

type verifier struct {
	server *Server
	report Report
	state  *core.State
	latest *core.Manifest
	plain  []byte // rendered where the latest manifest says its snapshot is
}

func (v *verifier) bad(kind, what, next string, err error) {
	v.report.Problems = append(v.report.Problems, Problem{Kind: kind, What: what, Detail: err.Error(), Next: next})
}

// run walks the records, then what they name. Its error is one of the node's;
// what is wrong with the session goes into the report.
func (v *verifier) run(ctx context.Context, last *core.Record) error {
	if err := v.records(ctx, last); err != nil {
		return err
	}
	v.report.Entries = len(v.state.Entries)
	if err := v.snapshot(ctx); err != nil {
		return err
	}
	if err := v.blobs(ctx); err != nil {
		return err
	}
	return v.row(ctx)
}

// records folds the session from its first record, and once more to learn what
// was rendered where the latest checkpoint points.
func (v *verifier) records(ctx context.Context, last *core.Record) error {
	if err := v.fold(ctx, last, 0); err != nil {
		return err
	}
	if v.latest == nil || len(v.report.Problems) > 0 {
		return nil
	}
	end, report, latest := v.state, v.report, v.latest
	err := v.fold(ctx, last, latest.Seq)
	v.plain = v.state.Render()
	v.state, v.report, v.latest = end, report, latest
	return err
}

// fold folds the records up to seq upTo, or to the last where upTo is 0.
func (v *verifier) fold(ctx context.Context, last *core.Record, upTo uint64) error {
	v.report.Records = 0
	v.state = core.NewState(v.server.cfg.Log.Name(), v.report.Session, dialect.All())
	for r, err := range v.server.cfg.Log.Read(ctx, v.report.Session, 0, last.Pos) {
		if err != nil {
			if errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
				return err
			}
			v.bad("record", fmt.Sprintf("the record behind record %d", v.state.Seq), "", err)
			return nil
		}
		if err := v.state.Apply(r); err != nil {
			v.bad("chain", fmt.Sprintf("record %d, at %d", r.Seq, r.Pos), "", err)
			return nil
		}
		v.report.Records++
		if r.Kind == core.KindCheckpoint {
			v.latest, _ = core.ReadManifest(r) // Apply has read it
		}
		if r.Seq == upTo {
			return nil
		}
	}
	if upTo == 0 && v.state.Chain != last.Chain {
		v.bad("chain", fmt.Sprintf("the end, record %d", last.Seq), "",
			fmt.Errorf("reading from the first record ends at record %d: %w", v.state.Seq, core.ErrCorrupt))
	}
	return nil
}

// snapshot compares the latest snapshot with the fold.
func (v *verifier) snapshot(ctx context.Context) error {
	m := v.latest
	if m == nil {
		return nil
	}
	snap := snapshotOf(m)
	v.report.Snapshot = &snap
	next := "sessctl checkpoint " + string(v.report.Session)
	plain, err := v.server.cfg.Snapshots.Read(ctx, m)
	switch {
	case errors.Is(err, core.ErrUnavailable), ctx.Err() != nil:
		return err
	case err != nil:
		v.bad("snapshot", m.Object, next, err)
	case v.plain != nil && !bytes.Equal(plain, v.plain):
		v.bad("snapshot", m.Object, next, fmt.Errorf("it is whole, but not what the records come to: %w", core.ErrCorrupt))
	}
	return nil
}

// blobs reads every blob that the session's lines name.
func (v *verifier) blobs(ctx context.Context) error {
	for _, d := range v.state.Blobs() {
		v.report.Blobs++
		err := v.readBlob(ctx, blobstore.Ref(d))
		switch {
		case err == nil:
		case errors.Is(err, blobstore.ErrUnavailable), ctx.Err() != nil:
			return fmt.Errorf("%w: %w", err, core.ErrUnavailable)
		default:
			v.bad("blob", d.String(), "put it back from a copy of the object store", err)
		}
	}
	return nil
}

// readBlob reads what is stored, not what a cache remembers of it.
func (v *verifier) readBlob(ctx context.Context, ref blobstore.Ref) error {
	r, err := v.server.cfg.Blobs.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// row compares the directory with the log, whose end may have moved meanwhile.
func (v *verifier) row(ctx context.Context) error {
	seq := v.server.cfg.Directory.Seq(v.report.Session)
	if seq <= v.state.Seq {
		return nil
	}
	last, err := v.server.cfg.Log.Last(ctx, v.report.Session)
	if err != nil {
		return err
	}
	if seq > last.Seq {
		v.bad("directory", "the session's row", "", fmt.Errorf("it speaks of record %d, the log ends at %d: %w", seq, last.Seq, core.ErrLost))
	}
	return nil
}
