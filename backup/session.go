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
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/recordio"
)

const (
	// pieceSize is about how many plain bytes of records make a piece. One record
	// has up to 16 MiB more.
	pieceSize = 16 << 20
	// mostPieces bounds the pieces of a session, each of a run: then all its records
	// are read anew.
	mostPieces = 32
)

// session reads what is new of a session: all since the run before, or since its
// base where that has changed.
func (t *Taker) session(ctx context.Context, end api.SessionEnd, prev *Session) (*Session, error) {
	if prev != nil && prev.Blobs != nil {
		blobs, err := t.Repo.list(ctx, *prev.Blobs)
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			return nil, err
		}
		for _, p := range blobs { // they were proved when they were written
			t.Repo.trust(p)
		}
	}
	from := api.RecordsFrom{}
	if prev != nil && !prev.Erased && len(prev.Missing) == 0 && len(prev.Records) < mostPieces {
		from.After = prev.cursor()
	}
	s, err := t.read(ctx, end, prev, from)
	if errors.Is(err, errAnew) {
		s, err = t.read(ctx, end, nil, api.RecordsFrom{})
	}
	if errors.Is(err, errNoSnapshot) {
		// Another may have taken its place since the records were asked for.
		s, err = t.read(ctx, end, nil, api.RecordsFrom{})
	}
	if errors.Is(err, errNoSnapshot) {
		// Nothing is lost while the records are there.
		if whole, werr := t.read(ctx, end, nil, api.RecordsFrom{Start: true}); werr == nil {
			return whole, nil
		}
	}
	return s, err
}

// errAnew says that nothing can be put behind what the run before has of a
// session.
var errAnew = errors.New("what an earlier backup has is of no use now")

// errNoSnapshot is a snapshot that the node does not have, or not sound.
var errNoSnapshot = errors.New("its snapshot cannot be had")

// read reads the records that from asks for, and what they name.
func (t *Taker) read(ctx context.Context, end api.SessionEnd, prev *Session, from api.RecordsFrom) (*Session, error) {
	rs, err := t.Node.Records(ctx, string(end.Session), from)
	if err != nil {
		return nil, err
	}
	defer rs.Close()
	if rs.Seq < end.Seq || rs.Log != t.run.Log {
		return nil, fmt.Errorf("session %s ends at record %d of log %s, says the node, and a moment ago at %d of log %s: %w",
			end.Session, rs.Seq, rs.Log, end.Seq, t.run.Log, core.ErrUnavailable)
	}
	r := &reading{t: t, s: &Session{ID: end.Session, BaseSeq: rs.AfterSeq}, blobs: map[core.Digest]bool{}}
	if rs.AfterSeq != 0 {
		r.s.Base = rs.After
	}
	if prev != nil && rs.AfterSeq == prev.Seq && rs.After == prev.Chain && rs.Covered != rs.AfterSeq {
		if rs.Covered != prev.BaseSeq {
			return nil, fmt.Errorf("session %s rests on another snapshot than in the backup before: %w", end.Session, errAnew)
		}
		again := *prev
		again.Records = slices.Clone(prev.Records)
		r.s, r.based = &again, true
	}
	r.link = newLink(rs.Log, end.Session, rs.AfterSeq, rs.After)
	if err := r.records(ctx, rs.Reader); err != nil {
		return nil, err
	}
	return r.s, r.finish(ctx, prev)
}

// A reading is a session on its way into a Repo.
type reading struct {
	t     *Taker
	s     *Session
	link  *link
	based bool // the session goes on from what a run has

	piece bytes.Buffer
	from  uint64 // of the first record in piece

	base  *core.Manifest // of the snapshot that the records rest on
	blobs map[core.Digest]bool
	parts []Part // of those that are in the Repo
}

// records reads all records and writes them, piece by piece.
func (r *reading) records(ctx context.Context, rd *recordio.Reader) error {
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.take(ctx, rec)
		}
		if err != nil {
			return fmt.Errorf("session %s: %w", r.s.ID, err)
		}
	}
	if err := r.cut(ctx); err != nil {
		return err
	}
	r.s.Seq, r.s.Chain, r.s.Erased = r.link.seq, r.link.chain, r.link.erased
	if len(r.s.Records) == 0 {
		return fmt.Errorf("session %s has no records: %w", r.s.ID, core.ErrCorrupt)
	}
	return nil
}

func (r *reading) take(ctx context.Context, rec *recordio.Record) error {
	if err := r.link.next(rec); err != nil {
		return err
	}
	if r.piece.Len() == 0 {
		r.from = rec.Seq
	}
	before := r.piece.Len()
	if err := recordio.Write(&r.piece, rec); err != nil {
		return err
	}
	r.t.moved(int64(r.piece.Len() - before))
	body, err := r.note(ctx, rec)
	if err != nil {
		return err
	}
	if m := manifestOf(rec, body); m != nil && m.Seq == r.s.BaseSeq && m.Chain == r.s.Base && !r.based {
		r.base = m
	}
	if r.piece.Len() >= pieceSize {
		return r.cut(ctx)
	}
	return nil
}

// cut writes the records that wait as a piece.
func (r *reading) cut(ctx context.Context) error {
	if r.piece.Len() == 0 {
		return nil
	}
	p, err := r.t.put(ctx, pack(r.piece.Bytes()))
	if err != nil {
		return err
	}
	r.s.Records = append(r.s.Records, Piece{Part: p, From: r.from, To: r.link.seq})
	r.piece.Reset()
	return nil
}

// note notes the blobs that a record names, and returns its body. One that is a
// blob is fetched: the session cannot be read without.
func (r *reading) note(ctx context.Context, rec *recordio.Record) ([]byte, error) {
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
		if !o.Original.IsZero() {
			r.blobs[o.Original] = true
		}
	case core.KindAppend, core.KindAmend:
	default:
		return body, nil
	}
	for _, line := range lines {
		for _, d := range core.BlobsOf(line) {
			r.blobs[d] = true
		}
	}
	return body, nil
}

// finish fetches what the records name and are to rest on.
func (r *reading) finish(ctx context.Context, prev *Session) error {
	if !r.based && r.s.BaseSeq != 0 {
		if err := r.snapshot(ctx); err != nil {
			return fmt.Errorf("session %s: %w", r.s.ID, err)
		}
	}
	if r.based && prev.Blobs != nil {
		blobs, err := r.t.Repo.list(ctx, *prev.Blobs)
		if errors.Is(err, core.ErrCorrupt) {
			return fmt.Errorf("%w: %w", errAnew, err)
		}
		if err != nil {
			return err
		}
		r.parts = append(r.parts, blobs...)
	}
	have := map[core.Digest]bool{}
	for _, p := range r.parts {
		have[p.Digest] = true
	}
	for d := range r.blobs {
		if have[d] {
			continue
		}
		_, err := r.blob(ctx, d)
		if err != nil && !isDamage(err) {
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
func (r *reading) list(ctx context.Context) error {
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

// snapshot puts the snapshot that the records rest on into the Repo.
func (r *reading) snapshot(ctx context.Context) error {
	m := r.base
	if m == nil {
		return fmt.Errorf("none of its records names the snapshot that covers record %d: %w", r.s.BaseSeq, core.ErrCorrupt)
	}
	for _, d := range m.Blobs {
		r.blobs[d] = true
	}
	if !m.Origin.Original.IsZero() {
		r.blobs[m.Origin.Original] = true
	}
	if p, ok, err := r.t.Repo.find(ctx, m.Packed); err != nil {
		return err
	} else if ok && !m.Packed.IsZero() {
		r.s.Snapshot = &p
		return nil
	}
	packed, err := r.t.Node.SnapshotObject(ctx, m)
	if err == nil {
		r.t.moved(int64(len(packed)))
		err = checkSnapshot(m, packed)
	}
	if isDamage(err) {
		return fmt.Errorf("%w: %w", errNoSnapshot, err)
	}
	if err != nil {
		return err
	}
	p, err := r.t.put(ctx, packed)
	r.s.Snapshot = &p
	return err
}

// blob puts a blob into the Repo. Its bytes are returned only where the node had
// to be asked for them.
func (r *reading) blob(ctx context.Context, d core.Digest) ([]byte, error) {
	p, ok, err := r.t.Repo.find(ctx, d)
	if err != nil {
		return nil, err
	}
	var b []byte
	if !ok {
		if b, err = r.t.Node.BlobBytes(ctx, d); err != nil {
			return nil, err
		}
		r.t.moved(int64(len(b)))
		if p, err = r.t.put(ctx, b); err != nil {
			return nil, err
		}
	}
	r.parts = append(r.parts, p)
	return b, nil
}

// body returns a record's body that is a blob, which the Repo has then.
func (r *reading) body(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := r.blob(ctx, d)
	if err != nil || b != nil {
		return b, err
	}
	return r.t.Repo.Get(ctx, r.parts[len(r.parts)-1])
}

// put writes an object.
func (t *Taker) put(ctx context.Context, b []byte) (Part, error) {
	p, sent, err := t.Repo.put(ctx, b)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Sent += sent
	if sent > 0 {
		t.report.Objects++
	}
	return p, err
}

// moved counts bytes that the node sent.
func (t *Taker) moved(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Read += n
}
