package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// errNeedsFresh asks commit for a state as fresh as the leader's.
var errNeedsFresh = errors.New("state is not known to be fresh")

// Draft is a snapshot that a checkpoint will name.
type Draft struct {
	Manifest *core.Manifest
	Plain    []byte // canonical JSONL
	// Reused means that the manifest names the object of the previous checkpoint, which
	// is byte-identical and need not be written again. WasRead means that the session
	// was loaded from that object.
	Reused, WasRead bool
	// FormerParts are the parts of the previous snapshot that this one may share. Its
	// manifest names those that it uses. Empty if it must not share any.
	FormerParts []core.Part
	// Window has the plain bytes of a core.WindowPart, and Before its number. Empty if the
	// manifest must have none.
	Window []byte
	Before int

	coversTo       core.Pos // of the last record it covers
	gen            uint64
	formerSnapshot core.SnapshotRef // the snapshot before
}

// ErrStaleDraft means that a snapshot has parts of one that is no longer the latest,
// or lines that were redacted: its parts may be deleted at any time. The caller must
// make a new draft.
var ErrStaleDraft = fmt.Errorf("the snapshot's base is no longer the latest: %w", core.ErrConflict)

// isStale reports whether parts of the draft may be deleted, or its manifest may
// have lines that were redacted since.
func (d *Draft) isStale(st *core.State) bool {
	if d.Manifest.Window != nil && st.RedactedAfter(d.Manifest.Seq) {
		return true
	}
	if len(d.Manifest.Parts) == 0 {
		return false
	}
	return st.RedactedAfter(d.Manifest.Seq) || st.Snapshot.Object != d.formerSnapshot.Object || len(st.Snapshot.Parts) != len(d.formerSnapshot.Parts)
}

// Draft takes a snapshot of the session in memory. object returns its key for its
// seq and the digest of its plain bytes.
func (s *Session) Draft(object func(seq uint64, sum core.Digest) string) *Draft {
	s.mu.RLock()
	defer s.mu.RUnlock()
	plain := s.st.Render()
	m := s.st.Manifest(plain, "")
	m.Object = object(m.Seq, m.SHA256)
	kept := m.Reuse(s.st)
	window, before := windowOf(s.st, len(plain))
	return &Draft{
		Window:         window,
		Before:         before,
		Manifest:       m,
		Plain:          plain,
		Reused:         kept,
		WasRead:        kept && s.base != nil && s.base.Object == m.Object,
		FormerParts:    s.st.FormerParts(),
		formerSnapshot: s.st.Snapshot,
		coversTo:       s.end.pos,
		gen:            s.gen.Load(),
	}
}

// BaseManifest returns the manifest of the snapshot that the session was loaded from
// and verified with, or nil if it was loaded from its first record.
func (s *Session) BaseManifest() *core.Manifest {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.base
}

// Manifest returns the manifest of a session's checkpoint, or nil if the session is
// read from its open. It reads no snapshot. It returns core.ErrNotFound if the
// session or its base does not exist.
func (ss *Sessions) Manifest(ctx context.Context, id core.SessionID) (*core.Manifest, error) {
	last, err := ss.lastOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if last.Kind == core.KindErase {
		return nil, erased(id, last)
	}
	base, err := ss.baseOf(ctx, id, last)
	if err != nil || base.Kind != core.KindCheckpoint {
		return nil, err
	}
	return base.Manifest()
}

// Checkpoint stores the record that names d's snapshot, which must be durable.
// Records may have been stored since the draft. It stores nothing, and returns nil,
// if a checkpoint covers as much or the session was loaded again since. It returns
// ErrStaleDraft if the draft must not be used.
func (s *Session) Checkpoint(ctx context.Context, d *Draft) error {
	body, err := json.Marshal(d.Manifest)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.ss.cfg.Timeout)
	defer cancel()
	retryCtx, cancel := s.ss.retryContext(ctx)
	defer cancel()
	if err := s.lock(retryCtx); err != nil {
		return err
	}
	defer s.unlock()
	overtaken, verified := false, uint64(0)
	err = s.commit(ctx, retryCtx, func(st *core.State, fresh bool) (*core.Record, error) {
		overtaken = false
		if s.gen.Load() != d.gen || d.Manifest.Seq <= st.Checkpointed {
			return nil, nil
		}
		if st.Erased != nil || st.UnknownKind != "" {
			return nil, st.CheckWritable()
		}
		if overtaken = d.isStale(st); overtaken {
			if !fresh { // a checkpoint may cover as much, or the session may be erased
				return nil, errNeedsFresh
			}
			return nil, nil
		}
		if err := s.verifyRecent(ctx, verified); err != nil || s.gen.Load() != d.gen {
			return nil, err
		}
		verified = st.Seq
		return &core.Record{Kind: core.KindCheckpoint, Head: core.MainHead, Writer: s.writer, Base: d.coversTo, Body: body}, nil
	})
	if err == nil && overtaken {
		return fmt.Errorf("session %s: %w", s.id, ErrStaleDraft)
	}
	if err == nil && s.gen.Load() == d.gen {
		s.forgetOrphans(d.coversTo)
	}
	return err
}
