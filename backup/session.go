package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

const (
	// pieceSize is the approximate size of a piece in bytes before compression. A
	// record adds up to 16 MiB.
	pieceSize = 16 << 20
	// maxPieces bounds the pieces of a session. Every run adds one; at the limit,
	// all records are read again.
	maxPieces = 32
)

// session reads a session: the records since the previous run, or all since its
// snapshot if that changed.
func (t *Taker) session(ctx context.Context, end api.SessionEnd, prev *Session) (*Session, error) {
	known, err := t.knownBlobs(ctx, prev)
	if errors.Is(err, core.ErrCorrupt) {
		prev, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	from := client.RecordsFrom{}
	if prev != nil && !prev.Erased && len(prev.Missing) == 0 && len(prev.Records) < maxPieces {
		from.After = prev.cursor()
	}
	s, err := t.read(ctx, end, prev, known, from)
	if errors.Is(err, errNotIncremental) {
		s, err = t.read(ctx, end, nil, nil, client.RecordsFrom{})
	}
	if errors.Is(err, errNoSnapshot) {
		// The snapshot may have been replaced since the records were requested.
		s, err = t.read(ctx, end, nil, nil, client.RecordsFrom{})
	}
	if errors.Is(err, errNoSnapshot) {
		// The session can do without a snapshot as long as all records exist.
		if full, ferr := t.read(ctx, end, nil, nil, client.RecordsFrom{Start: true}); ferr == nil {
			return full, nil
		}
	}
	return s, err
}

// knownBlobs returns the blobs that the previous run has of a session. They were
// verified when they were written.
func (t *Taker) knownBlobs(ctx context.Context, prev *Session) ([]Part, error) {
	if prev == nil || prev.Blobs == nil {
		return nil, nil
	}
	blobs, err := t.Repo.list(ctx, *prev.Blobs)
	if err == nil {
		t.Repo.trust(blobs...)
	}
	return blobs, err
}

var (
	errNotIncremental = errors.New("the previous run cannot be extended")
	errNoSnapshot     = errors.New("the snapshot is missing or corrupt")
)

// read copies the requested records, and what they reference. It extends prev,
// whose blobs are known, if the records follow it.
func (t *Taker) read(ctx context.Context, end api.SessionEnd, prev *Session, known []Part, from client.RecordsFrom) (*Session, error) {
	rs, err := t.Node.Records(ctx, string(end.Session), from)
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	if rs.Seq < end.Seq || rs.Log != t.run.Log {
		return nil, fmt.Errorf("session %s ends at record %d of log %s, but ended at record %d of log %s before: %w",
			end.Session, rs.Seq, rs.Log, end.Seq, t.run.Log, core.ErrUnavailable)
	}
	r := &sessionReader{t: t, s: &Session{ID: end.Session, BaseSeq: rs.AfterSeq}, blobs: map[core.Digest]bool{}}
	if rs.AfterSeq != 0 {
		r.s.Base = rs.After
	}
	if prev != nil && rs.AfterSeq == prev.Seq && rs.After == prev.Chain && rs.Covered != rs.AfterSeq {
		if rs.Covered != prev.BaseSeq {
			return nil, fmt.Errorf("session %s has another snapshot than in the previous run: %w", end.Session, errNotIncremental)
		}
		extended := *prev
		extended.Records = slices.Clone(prev.Records)
		r.s, r.extends, r.parts = &extended, true, known
	}
	r.tail = newTail(rs.Log, end.Session, rs.AfterSeq, rs.After)
	if err := r.records(ctx, rs.Reader); err != nil {
		return nil, err
	}
	return r.s, r.finish(ctx)
}

// A sessionReader copies a session from a node to a Repo.
type sessionReader struct {
	t       *Taker
	s       *Session
	tail    *tail
	extends bool // s extends the session of the previous run

	piece bytes.Buffer
	from  uint64 // of the first record in piece

	base  *core.Manifest // of the snapshot at BaseSeq
	blobs map[core.Digest]bool
	parts []Part // blobs that are in the Repo
}

// records reads all records and writes them in pieces.
func (r *sessionReader) records(ctx context.Context, rd *recordio.Reader) error {
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.record(ctx, rec)
		}
		if err != nil {
			return fmt.Errorf("session %s: %w", r.s.ID, err)
		}
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.s.Seq, r.s.Chain, r.s.Erased = r.tail.seq, r.tail.chain, r.tail.erased
	if len(r.s.Records) == 0 {
		return fmt.Errorf("session %s has no records: %w", r.s.ID, core.ErrCorrupt)
	}
	return nil
}

func (r *sessionReader) record(ctx context.Context, rec *recordio.Record) error {
	if err := r.tail.append(rec); err != nil {
		return err
	}
	before := r.piece.Len()
	if before == 0 {
		r.from = rec.Seq
	}
	if err := recordio.Write(&r.piece, rec); err != nil {
		return err
	}
	r.t.countRead(r.piece.Len() - before)
	body, err := r.collectBlobs(ctx, rec)
	if err != nil {
		return err
	}
	if m := manifestOf(rec, body); m != nil && m.Seq == r.s.BaseSeq && m.Chain == r.s.Base && !r.extends {
		r.base = m
	}
	if r.piece.Len() >= pieceSize {
		return r.flush(ctx)
	}
	return nil
}

// flush writes the buffered records as a piece.
func (r *sessionReader) flush(ctx context.Context) error {
	if r.piece.Len() == 0 {
		return nil
	}
	p, err := r.t.put(ctx, pack(r.piece.Bytes()))
	if err != nil {
		return err
	}
	r.s.Records = append(r.s.Records, Piece{Part: p, From: r.from, To: r.tail.seq})
	r.piece.Reset()
	return nil
}

// collectBlobs collects the blobs that a record references, and returns its body.
// If the body is a blob, it is copied at once; without it the session is
// unreadable.
func (r *sessionReader) collectBlobs(ctx context.Context, rec *recordio.Record) ([]byte, error) {
	body := rec.Body
	if !rec.Spill.IsZero() {
		var err error
		if body, err = r.body(ctx, rec.Spill); err != nil {
			return nil, fmt.Errorf("body of record %d: %w", rec.Seq, err)
		}
	}
	lines := bytes.Split(body, []byte("\n"))
	switch rec.Kind {
	case core.KindOpen:
		var o core.Origin
		if err := json.Unmarshal(lines[0], &o); err != nil {
			return nil, fmt.Errorf("record %d has no origin: %v: %w", rec.Seq, err, core.ErrCorrupt)
		}
		r.need(o.Original)
	case core.KindAppend, core.KindAmend:
	default:
		return body, nil
	}
	for _, line := range lines {
		r.need(core.BlobsOf(line)...)
	}
	return body, nil
}

func (r *sessionReader) need(blobs ...core.Digest) {
	for _, d := range blobs {
		if !d.IsZero() {
			r.blobs[d] = true
		}
	}
}

// finish copies the snapshot and the blobs, and writes the list of blobs.
func (r *sessionReader) finish(ctx context.Context) error {
	if !r.extends && r.s.BaseSeq != 0 {
		if err := r.snapshot(ctx); err != nil {
			return fmt.Errorf("session %s: %w", r.s.ID, err)
		}
	}
	for _, p := range r.parts {
		delete(r.blobs, p.Digest)
	}
	for d := range r.blobs {
		_, err := r.blob(ctx, d)
		if err != nil && !isSessionError(err) {
			return err
		}
		if err != nil {
			r.s.Missing = append(r.s.Missing, d)
			r.t.problem(r.s.ID, fmt.Errorf("blob %s: %w; the session was backed up without it", d, err))
		}
	}
	return r.list(ctx)
}

// list writes the list of blobs.
func (r *sessionReader) list(ctx context.Context) error {
	slices.SortFunc(r.s.Missing, func(a, b core.Digest) int { return bytes.Compare(a[:], b[:]) })
	slices.SortFunc(r.parts, func(a, b Part) int { return bytes.Compare(a.Digest[:], b.Digest[:]) })
	r.parts = slices.Compact(r.parts)
	if len(r.parts) == 0 {
		return nil
	}
	p, err := r.t.put(ctx, encodeList(r.parts))
	r.s.Blobs = &p
	return err
}

// snapshot copies the snapshot at BaseSeq.
func (r *sessionReader) snapshot(ctx context.Context) error {
	m := r.base
	if m == nil {
		return errNoManifest(r.s.BaseSeq)
	}
	r.need(m.Blobs...)
	r.need(m.Origin.Original)
	if p, ok, err := r.t.Repo.find(ctx, m.Packed); err != nil {
		return err
	} else if ok && !m.Packed.IsZero() {
		r.s.Snapshot = &p
		return nil
	}
	packed, err := r.t.Node.SnapshotObject(ctx, m)
	if err == nil {
		r.t.countRead(len(packed))
		err = checkSnapshot(m, packed)
	}
	if isSessionError(err) {
		return fmt.Errorf("%w: %w", errNoSnapshot, err)
	}
	if err != nil {
		return err
	}
	p, err := r.t.put(ctx, packed)
	r.s.Snapshot = &p
	return err
}

// blob copies a blob. It returns the bytes only if it read them from the node.
func (r *sessionReader) blob(ctx context.Context, d core.Digest) ([]byte, error) {
	p, ok, err := r.t.Repo.find(ctx, d)
	if err != nil {
		return nil, err
	}
	var b []byte
	if !ok {
		if b, err = r.t.Node.BlobBytes(ctx, d); err != nil {
			return nil, err
		}
		r.t.countRead(len(b))
		if p, err = r.t.put(ctx, b); err != nil {
			return nil, err
		}
	}
	r.parts = append(r.parts, p)
	return b, nil
}

// body copies a record's body that is a blob, and returns it.
func (r *sessionReader) body(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := r.blob(ctx, d)
	if err != nil || b != nil {
		return b, err
	}
	return r.t.Repo.Get(ctx, r.parts[len(r.parts)-1])
}
