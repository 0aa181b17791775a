package backup

import (
	"context"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

// A History is a session in a backup, read and verified.
type History struct {
	Session *Session
	// Records are those after BaseSeq, in order, with a verified chain.
	Records []*recordio.Record
	// Snapshot is the manifest of the snapshot at BaseSeq, and Packed the snapshot
	// itself; nil if Records starts with the session's open or erase.
	Snapshot *core.Manifest
	Packed   []byte
	Blobs    []Part
}

// blob returns the blob with that digest.
func (h *History) blob(d core.Digest) (Part, bool) {
	i := slices.IndexFunc(h.Blobs, func(p Part) bool { return p.Digest == d })
	if i < 0 {
		return Part{}, false
	}
	return h.Blobs[i], true
}

// History reads a session of a run of the named log, without its blobs. It returns
// core.ErrCorrupt, naming the object, if one is missing or corrupt.
func (r *Repo) History(ctx context.Context, log string, s *Session) (*History, error) {
	h := &History{Session: s}
	if err := r.readPieces(ctx, log, h); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.ID, err)
	}
	if s.Blobs != nil {
		var err error
		if h.Blobs, err = r.list(ctx, *s.Blobs); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	if s.Snapshot != nil {
		if err := r.readSnapshot(ctx, log, h); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	return h, nil
}

// list reads a list of blobs.
func (r *Repo) list(ctx context.Context, p Part) ([]Part, error) {
	b, err := r.Get(ctx, p)
	if err != nil {
		return nil, err
	}
	blobs, err := decodeList(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Key(), err)
	}
	return blobs, nil
}

// readPieces reads the records of a history.
func (r *Repo) readPieces(ctx context.Context, log string, h *History) error {
	s := h.Session
	t := newTail(log, s.ID, s.BaseSeq, s.Base)
	for _, piece := range s.Records {
		b, err := r.Get(ctx, piece.Part)
		if err != nil {
			return err
		}
		plain, err := unpack(b, maxPiece)
		if err != nil {
			return fmt.Errorf("%s: %w", piece.Key(), err)
		}
		for rec, err := range recordio.All(plain) {
			if err == nil {
				err = t.append(rec)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", piece.Key(), err)
			}
			h.Records = append(h.Records, rec)
		}
	}
	if t.seq != s.Seq || t.chain != s.Chain {
		return fmt.Errorf("records end at %s, the run says %s: %w", core.CursorOf(t.seq, t.chain), s.cursor(), core.ErrCorrupt)
	}
	return nil
}

// readSnapshot reads the snapshot of a history after its records.
func (r *Repo) readSnapshot(ctx context.Context, log string, h *History) error {
	s := h.Session
	for _, rec := range h.Records {
		body, err := r.manifestBody(ctx, h, rec)
		if err != nil {
			return err
		}
		if m := manifestOf(rec, body); m != nil && m.Seq == s.BaseSeq && m.Chain == s.Base {
			h.Snapshot = m
		}
	}
	if h.Snapshot == nil {
		return errNoManifest(s.BaseSeq)
	}
	if h.Snapshot.Log != log || h.Snapshot.Session != s.ID {
		return fmt.Errorf("the snapshot is of session %q in log %q: %w", h.Snapshot.Session, h.Snapshot.Log, core.ErrCorrupt)
	}
	var err error
	if h.Packed, err = r.Get(ctx, *s.Snapshot); err != nil {
		return err
	}
	if err := checkSnapshot(h.Snapshot, h.Packed); err != nil {
		return fmt.Errorf("%s: %w", s.Snapshot.Key(), err)
	}
	return nil
}

func errNoManifest(seq uint64) error {
	return fmt.Errorf("no record has the manifest of the snapshot at record %d: %w", seq, core.ErrCorrupt)
}

// manifestBody returns the body of a checkpoint. A large one is a blob of the
// session.
func (r *Repo) manifestBody(ctx context.Context, h *History, rec *recordio.Record) ([]byte, error) {
	if rec.Kind != core.KindCheckpoint || rec.Spill.IsZero() {
		return rec.Body, nil
	}
	if p, ok := h.blob(rec.Spill); ok {
		return r.Get(ctx, p)
	}
	return nil, nil // Verify reports it; another checkpoint may have the manifest
}

// manifestOf returns the manifest in body, the body of r, or nil if r is not a
// valid checkpoint.
func manifestOf(r *recordio.Record, body []byte) *core.Manifest {
	if r.Kind != core.KindCheckpoint {
		return nil
	}
	rec := r.Record
	rec.Body = body
	m, err := rec.Manifest()
	if err != nil {
		return nil
	}
	return m
}

// checkSnapshot unpacks a snapshot and compares it with its manifest.
func checkSnapshot(m *core.Manifest, packed []byte) error {
	plain, err := unpack(packed, m.Size)
	if err != nil {
		return err
	}
	if int64(len(plain)) != m.Size || core.DigestOf(plain) != m.SHA256 {
		return fmt.Errorf("the snapshot does not match its manifest: %w", core.ErrCorrupt)
	}
	return nil
}

// A tail verifies a chain of records. It is the last record so far.
type tail struct {
	seq    uint64
	chain  core.Chain
	erased bool
}

// newTail returns the tail before a session's first record.
func newTail(log string, id core.SessionID, seq uint64, chain core.Chain) *tail {
	if seq == 0 {
		chain = core.ChainStart(log, id)
	}
	return &tail{seq: seq, chain: chain}
}

// append checks that r follows the tail and advances it. The first record may be
// an erase, because an erase removes the records before it.
func (t *tail) append(r *recordio.Record) error {
	lone := t.seq == 0 && r.Kind == core.KindErase
	if t.erased || !lone && !r.Follows(t.seq, t.chain) {
		return fmt.Errorf("record %d does not follow record %d: %w", r.Seq, t.seq, core.ErrCorrupt)
	}
	if (t.seq == 0) != (r.Kind == core.KindOpen || lone) {
		return fmt.Errorf("record %d has the wrong kind %q: %w", r.Seq, r.Kind, core.ErrCorrupt)
	}
	t.seq, t.chain, t.erased = r.Seq, r.Chain, r.Kind == core.KindErase
	return nil
}
