package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// How much of a file is sent at once, unless one line is larger, and how large a
// line may be before the file is looked at as a whole.
const (
	batchSize = 4 << 20
	lineSize  = 256 << 20
	edgeSize  = 4 << 10
)

// grow appends what was added to a file that is otherwise as it was. It returns
// false where the file is to be compared with the log instead: it changed in
// another way, a line is none that an append takes as it is, or somebody else
// went on with the head.
func (b *Follower) grow(ctx context.Context, f *file, h *os.File, s stat, final, prove bool) (again time.Duration, ok bool, err error) {
	p := &f.place
	d, err := dialect.Named(p.Dialect)
	if err != nil || s.size < p.Offset {
		return 0, false, nil
	}
	replaced := p.Dev != s.dev || p.Ino != s.ino
	all := prove || replaced || s.size == p.Offset || f.digest == nil
	if begins, err := b.beginsAsBefore(f, h, all); err != nil || !begins {
		return 0, false, b.readError(f, s, err)
	}
	f.prove(all)
	take := final || s.quietFor() > quiet
	for {
		data, err := readLines(h, p.Offset, s.size)
		if err != nil {
			return 0, false, b.readError(f, s, err)
		}
		edge, steady, err := p.isSteady(h, data)
		if err != nil || !steady {
			return 0, false, b.readError(f, s, err)
		}
		more := p.Offset+int64(len(data)) < s.size
		data, rest := wholeLines(data, take && !more && d.Name() != unfinishedIsNone)
		if len(data) == 0 {
			b.save(f, s)
			if isObject(rest) && d.Name() != unfinishedIsNone && !take {
				return quiet, true, nil
			}
			return 0, true, nil
		}
		if p.Open && data[0] != '\n' && !bytes.HasPrefix(data, []byte("\r\n")) {
			return 0, false, nil // a line was glued to the last one
		}
		if ok, err := b.send(ctx, f, d, data); !ok || err != nil {
			return 0, false, err
		}
		p.advance(f.digest, edge, data)
		b.save(f, s)
	}
}

// unfinishedIsNone is the dialect whose agent leaves out a last line without a
// newline, whatever it is.
const unfinishedIsNone = "openrath"

func (b *Follower) readError(f *file, s stat, err error) error {
	if err == nil {
		return nil
	}
	return b.refuse(f, s, BadFile, fmt.Errorf("it cannot be read: %w", err))
}

// beginsAsBefore reports whether the bytes that are in the log are those that
// the file begins with: all of them, or with a quick look the first and the last.
func (b *Follower) beginsAsBefore(f *file, h *os.File, all bool) (bool, error) {
	p := &f.place
	if !all {
		edge, err := edgesOf(h, p.Offset)
		return edge.hashes() == p.Edge, err
	}
	digest := xxhash.New()
	n, err := io.Copy(digest, io.NewSectionReader(h, 0, p.Offset))
	if err != nil || n < p.Offset || digest.Sum64() != p.Sum {
		return false, err
	}
	f.digest = digest
	return true, nil
}

// isSteady reports whether the file still begins as before, with which edges, and
// has data behind that: it may be written anew at the very moment when it is read,
// and then data begins in the middle of some line, or has something of both.
func (p *place) isSteady(h io.ReaderAt, data []byte) (e edges, steady bool, err error) {
	e, err = edgesOf(h, p.Offset)
	if err != nil || e.hashes() != p.Edge {
		return e, false, err
	}
	steady, err = readsAgain(h, p.Offset, data)
	return e, steady, err
}

// readsAgain reports whether h has data at offset.
func readsAgain(h io.ReaderAt, offset int64, data []byte) (bool, error) {
	again := make([]byte, len(data))
	n, err := h.ReadAt(again, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.Equal(again[:n], data), err
}

// edges are the first and the last few of a file's bytes.
type edges struct{ first, last []byte }

// edgesOf reads the edges of the first n bytes of h.
func edgesOf(h io.ReaderAt, n int64) (e edges, err error) {
	size := min(n, edgeSize)
	e.first, e.last = make([]byte, size), make([]byte, size)
	for b, at := range map[*[]byte]int64{&e.first: 0, &e.last: n - size} {
		if _, err := h.ReadAt(*b, at); err != nil && !errors.Is(err, io.EOF) {
			return e, err
		}
	}
	return e, nil
}

// before are the edges of what has data behind it.
func (e edges) before(data []byte) edges {
	first := slices.Concat(e.first, data[:min(len(data), edgeSize)])
	last := slices.Concat(e.last, data[max(0, len(data)-edgeSize):])
	return edges{first[:min(len(first), edgeSize)], last[max(0, len(last)-edgeSize):]}
}

func (e edges) hashes() [2]uint64 { return [2]uint64{xxhash.Sum64(e.first), xxhash.Sum64(e.last)} }

// advance moves the place behind data, which is in the log. e are the edges of
// what was there before: those of the file may be other ones by now.
func (p *place) advance(digest *xxhash.Digest, e edges, data []byte) {
	p.Offset += int64(len(data))
	_, _ = digest.Write(data)
	p.Sum = digest.Sum64()
	p.Edge = e.before(data).hashes()
	p.Open = data[len(data)-1] != '\n'
}

// readLines reads from offset to size, but no more than a batch, or as much as
// it takes to have a line.
func readLines(h io.ReaderAt, offset, size int64) ([]byte, error) {
	for n := int64(batchSize); ; n *= 4 {
		buf := make([]byte, min(n, size-offset))
		got, err := h.ReadAt(buf, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		buf = buf[:got]
		if int64(got) < n || n > lineSize || bytes.IndexByte(buf, '\n') >= 0 {
			return buf, nil
		}
	}
}

// send appends the lines in data to the file's head. It returns false where they
// are not such that an append stores them as they are, or somebody else came
// first.
func (b *Follower) send(ctx context.Context, f *file, d core.Dialect, data []byte) (ok bool, err error) {
	var es []core.Entry
	var hs []uint64
	var bad [][]byte
	body := data[:0:0]
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if blank(line) {
			continue
		}
		e, err := d.Entry(line)
		switch {
		case err != nil && d.Name() == manyLines:
			return false, nil
		case err != nil:
			bad = append(bad, line)
		case !plain(d, e):
			return false, nil
		default:
			es = append(es, e)
			body = append(append(body, line...), '\n')
			hs = append(hs, hash(line))
		}
	}
	if len(es) > 0 {
		// An answer may be lost, or the process end, and the file change again
		// before anybody knows that they are in the log.
		if err := b.noteAll(f, hs, announced); err != nil {
			return false, err
		}
		if ok, err := b.append(ctx, f, d, es, body); !ok || err != nil {
			return ok, err
		}
	}
	if err := b.tellBad(ctx, f, bad); err != nil {
		return false, err
	}
	for _, line := range bad {
		hs = append(hs, hash(line))
	}
	return true, b.noteAll(f, hs, 0)
}

// noteAll remembers lines.
func (b *Follower) noteAll(f *file, hs []uint64, with uint64) error {
	noted := make([]uint64, len(hs))
	for i, h := range hs {
		noted[i] = h ^ with
	}
	if err := b.memory.add(f.path, noted); err != nil {
		return b.refuse(f, stat{}, BadFile, fmt.Errorf("its lines cannot be noted: %w", err))
	}
	return nil
}

// manyLines is the dialect whose agent reads objects that go over several lines.
const manyLines = "omp"

// plain reports whether an append stores e's line as it is: it has a place in
// the tree, and all that the log would fill in.
func plain(d core.Dialect, e core.Entry) bool {
	if e.ID == "" || e.Aside || len(e.ID) > core.MaxEntryID {
		return false
	}
	filled, err := d.Fill(e.Line, core.Fields{ID: e.ID, Parent: core.LeafAt("parent"), Time: "2026-01-01T00:00:00.000Z", Position: 1})
	return err == nil && bytes.Equal(filled.Line, e.Line)
}

func (b *Follower) append(ctx context.Context, f *file, d core.Dialect, es []core.Entry, body []byte) (ok bool, err error) {
	p := &f.place
	if err := b.bringImages(ctx, f, d, body); err != nil {
		return false, err
	}
	var done api.Appended
	err = b.ask(f, func() (err error) {
		done, err = b.cfg.Node.Append(ctx, string(p.Session), body, api.AppendOptions{
			Head: p.Head, Writer: b.writer(p.Session, p.Head), After: p.Cursor.String(),
		})
		return err
	})
	if err != nil {
		if !transient(err) {
			b.doubt(f)
		}
		if transient(err) || stops(err) {
			return false, err
		}
		return false, nil // a comparison will tell more
	}
	direct := done.Stored == len(es) && done.Cursor.Seq == p.Cursor.Seq+1
	p.Leaf, p.Cursor = d.Leaf(es), done.Cursor
	if direct {
		return true, nil
	}
	// Some were there: an earlier try was stored, with more lines perhaps than the
	// file has now, or somebody else follows it, too. Or other records came in
	// between, or behind them, and may have moved the head.
	err = b.stand(ctx, f, p.Leaf, false)
	return p.Cursor != core.Cursor{}, err
}

// doubt notes that the file is to be compared whatever it looks like.
func (b *Follower) doubt(f *file) {
	f.place.Cursor = core.Cursor{}
	p := f.place
	p.saw(nowhere())
	b.remember(p)
}

func (b *Follower) writer(id core.SessionID, head string) string {
	return b.claims.writer(headOf{id, head})
}

// answered notes that a node took something.
func (b *Follower) answered() {
	if b.gate.open() {
		b.notify(Notice{Kind: Back, Text: "a node answers again; what waited goes to the log"})
		b.scan.prove()
	}
}
