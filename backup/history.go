package backup

import (
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

// A History is a session as a backup has it, put together and proved.
type History struct {
	Session *Session
	// Records are those behind BaseSeq, in order, each held to the one before it.
	Records []*recordio.Record
	// Snapshot is the manifest of the snapshot that the records rest on, and Packed
	// the object; nil where they begin with the session's open or its erase.
	Snapshot *core.Manifest
	Packed   []byte
	Blobs    []Part
}

// History reads a session of a run of the log called log, without its blobs.
// core.ErrCorrupt, naming the object, where something is gone or not what it
// should be.
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
	link := newLink(log, s.ID, s.BaseSeq, s.Base)
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
				err = link.next(rec)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", piece.Key(), err)
			}
			h.Records = append(h.Records, rec)
		}
	}
	if link.seq != s.Seq || link.chain != s.Chain {
		return fmt.Errorf("its records come to %s, the run says %s: %w", core.CursorOf(link.seq, link.chain), s.cursor(), core.ErrCorrupt)
	}
	return nil
}

// readSnapshot reads the snapshot of a history, whose records were read.
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
		return fmt.Errorf("none of its records names the snapshot that covers record %d: %w", s.BaseSeq, core.ErrCorrupt)
	}
	if h.Snapshot.Log != log || h.Snapshot.Session != s.ID {
		return fmt.Errorf("its snapshot is of session %q in log %q: %w", h.Snapshot.Session, h.Snapshot.Log, core.ErrCorrupt)
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

// manifestBody returns the body of a checkpoint, which is one of the session's
// blobs where it is large.
func (r *Repo) manifestBody(ctx context.Context, h *History, rec *recordio.Record) ([]byte, error) {
	if rec.Kind != core.KindCheckpoint || rec.Spill.IsZero() {
		return rec.Body, nil
	}
	for _, p := range h.Blobs {
		if p.Digest == rec.Spill {
			return r.Get(ctx, p)
		}
	}
	return nil, nil // Verify names it; another one may do
}

// manifestOf returns the manifest that r carries, whose body is body; nil where
// it is no checkpoint.
func manifestOf(r *recordio.Record, body []byte) *core.Manifest {
	if r.Kind != core.KindCheckpoint {
		return nil
	}
	whole := r.Record
	whole.Body = body
	m, err := core.ReadManifest(&whole)
	if err != nil {
		return nil
	}
	return m
}

// checkSnapshot unpacks a snapshot and compares it with what m says.
func checkSnapshot(m *core.Manifest, packed []byte) error {
	plain, err := unpack(packed, m.Size)
	if err != nil {
		return err
	}
	if int64(len(plain)) != m.Size || core.DigestOf(plain) != m.SHA256 {
		return fmt.Errorf("it is not the snapshot that its manifest names: %w", core.ErrCorrupt)
	}
	return nil
}

// A link is the end of a chain of records.
type link struct {
	seq    uint64
	chain  core.Chain
	erased bool
}

// newLink returns the link before a session's first record that is kept.
func newLink(log string, id core.SessionID, seq uint64, chain core.Chain) *link {
	if seq == 0 {
		chain = core.ChainStart(log, id)
	}
	return &link{seq: seq, chain: chain}
}

// next takes in r, which must follow. An erase may be a session's first record:
// what was before it is gone.
func (l *link) next(r *recordio.Record) error {
	lone := l.seq == 0 && r.Kind == core.KindErase
	if l.erased || !lone && !r.Follows(l.seq, l.chain) {
		return fmt.Errorf("record %d does not follow record %d: %w", r.Seq, l.seq, core.ErrCorrupt)
	}
	if (l.seq == 0) != (r.Kind == core.KindOpen || lone) {
		return fmt.Errorf("a record of kind %q as number %d: %w", r.Kind, r.Seq, core.ErrCorrupt)
	}
	l.seq, l.chain, l.erased = r.Seq, r.Chain, r.Kind == core.KindErase
	return nil
}
