package materializer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
)

// errOther is plain bytes that are not those of the manifest.
var errOther = errors.New("these are not the bytes its manifest names")

// Load implements engine.Snapshots. An object that is the one its writer stored
// is checked by then. Of another one the digest of the plain bytes is compared
// while frames are unpacked, and goes on when Load returns; so it does for a
// snapshot of several parts.
func (s *Snapshots) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	if len(m.Parts) == 0 {
		return s.load(ctx, m.Whole())
	}
	plain, err = s.compose(ctx, m)
	if err == nil {
		return plain, digestOf(plain, m), nil
	}
	if !isLost(err) {
		return nil, nil, err
	}
	if plain, checked, werr := s.load(ctx, m.Whole()); werr == nil {
		return plain, checked, nil
	}
	return nil, nil, err
}

// isLost tells an object that is gone or damaged from a store that does not answer.
func isLost(err error) bool {
	return errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt)
}

// digestOf begins to compare the digest of what m's parts came to.
func digestOf(plain []byte, m *core.Manifest) func() error {
	sum := make(chan core.Digest, 1)
	go func() { sum <- core.DigestOf(plain) }()
	return compared(sum, m.Whole())
}

// compared is the check of a digest that sum gets.
func compared(sum <-chan core.Digest, p core.Part) func() error {
	return sync.OnceValue(func() error {
		if <-sum != p.SHA256 {
			return damaged(p, errOther)
		}
		return nil
	})
}

// load returns the plain bytes of a part that is an object.
func (s *Snapshots) load(ctx context.Context, p core.Part) (plain []byte, checked func() error, err error) {
	if packed, ok := s.disk.Get(blobstore.Ref(p.Packed)); ok {
		if plain, err = unpackFrames(packed, p, nil); err == nil {
			return plain, proved, nil
		}
	}
	packed, err := s.packed(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if !p.Packed.IsZero() && core.DigestOf(packed) == p.Packed {
		if plain, err = unpackFrames(packed, p, nil); err == nil {
			s.disk.Add(blobstore.Ref(p.Packed), packed)
			return plain, proved, nil
		}
	}
	return unpackUnproved(packed, p)
}

// proved is the check of what is checked already.
func proved() error { return nil }

// unpackUnproved unpacks an object that may be anything.
func unpackUnproved(packed []byte, p core.Part) (plain []byte, checked func() error, err error) {
	sum := make(chan core.Digest, 1)
	if plain, err = unpackFrames(packed, p, sum); err != nil {
		// Whoever packed it may not have left a table to go by.
		sum = make(chan core.Digest, 1)
		plain, err = unpackStream(packed, p, sum)
	}
	if err != nil {
		return nil, nil, damaged(p, err)
	}
	return plain, compared(sum, p), nil
}

// unpackProved unpacks packed bytes that may be anything, and compares the digest
// of what they give.
func unpackProved(packed []byte, p core.Part) ([]byte, error) {
	plain, checked, err := unpackUnproved(packed, p)
	if err != nil {
		return nil, err
	}
	return plain, checked()
}

// Read returns the plain bytes of m's snapshot once their digest, which it
// always takes, was compared.
func (s *Snapshots) Read(ctx context.Context, m *core.Manifest) ([]byte, error) {
	if len(m.Parts) == 0 {
		return s.read(ctx, m.Whole())
	}
	plain, err := s.composeAnew(ctx, m)
	if err == nil || !isLost(err) {
		return plain, err
	}
	if plain, werr := s.read(ctx, m.Whole()); werr == nil {
		return plain, nil
	}
	return nil, err
}

// read is Read for a part that is an object.
func (s *Snapshots) read(ctx context.Context, p core.Part) ([]byte, error) {
	packed, err := s.packed(ctx, p)
	if err != nil {
		return nil, err
	}
	return unpackProved(packed, p)
}

func damaged(p core.Part, err error) error {
	what := "snapshot " + p.Object
	if p.Object == "" {
		what = "change of a snapshot"
	}
	return fmt.Errorf("%s: %v: %w", what, err, core.ErrCorrupt)
}

// packed returns the object as it is stored.
func (s *Snapshots) packed(ctx context.Context, p core.Part) ([]byte, error) {
	r, err := s.bucket.Get(ctx, p.Object)
	if err != nil {
		return nil, BlobError(err)
	}
	defer r.Close()
	// What compression does not make smaller it makes larger by less than that.
	most := p.Size + p.Size/64 + 64<<10
	buf := bytes.NewBuffer(make([]byte, 0, 64<<10))
	n, err := io.Copy(buf, io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", p.Object, BlobError(err))
	}
	if p.Size < 0 || n > most {
		return nil, damaged(p, errOther)
	}
	return buf.Bytes(), nil
}

// unpackStream unpacks the snapshot from its beginning to its end, and sends
// sum, which has room for it, the digest of what that gives.
func unpackStream(packed []byte, p core.Part, sum chan<- core.Digest) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var buf bytes.Buffer
	// One byte more than there may be, to see that there is none.
	n, err := io.Copy(&buf, io.LimitReader(d, p.Size+1))
	if err != nil {
		return nil, err
	}
	if n != p.Size {
		return nil, errOther
	}
	sum <- core.DigestOf(buf.Bytes())
	return buf.Bytes(), nil
}

// A frame is a piece of a snapshot, packed and where it goes.
type frame struct {
	packed, plain []byte
	done          chan struct{} // closed when it is unpacked
	err           error         // why it is not
}

// unpackFrames unpacks the frames of the snapshot at the same time. Where sum is
// not nil, it has room for the digest of what that gives, and is sent it when it
// is known, which may be later.
func unpackFrames(packed []byte, p core.Part, sum chan<- core.Digest) ([]byte, error) {
	plain, frames, err := framesOf(packed, p)
	if err != nil {
		return nil, err
	}
	queue := make(chan *frame, len(frames))
	for i := range frames {
		queue <- &frames[i]
	}
	close(queue)
	for range min(runtime.GOMAXPROCS(0), len(frames)) {
		go func() {
			for f := range queue {
				f.err = f.unpack()
				close(f.done)
			}
		}()
	}
	if sum != nil {
		go digest(frames, sum)
	}
	// Each frame is waited for, so that nobody writes into plain afterwards.
	for i := range frames {
		<-frames[i].done
		err = cmp.Or(err, frames[i].err)
	}
	return plain, err
}

// digest sends sum the digest of the frames, each as soon as it is unpacked.
func digest(frames []frame, sum chan<- core.Digest) {
	h := sha256.New()
	for i := range frames {
		<-frames[i].done
		h.Write(frames[i].plain)
	}
	sum <- core.Digest(h.Sum(nil))
}

// framesOf finds the frames of a snapshot by the table at its end, and makes
// room for what they hold.
func framesOf(packed []byte, p core.Part) ([]byte, []frame, error) {
	r, err := seekable.NewReader(bytes.NewReader(packed), snapshotDecoder())
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	table, err := r.SeekTable()
	if err != nil {
		return nil, nil, err
	}
	if p.Size < 0 || table.Size() != uint64(p.Size) {
		return nil, nil, errOther
	}
	if most := table.NumFrames() * 2 * frameSize; p.Size > most { // before there is room for as much as it claims
		return nil, nil, errOther
	}
	plain := make([]byte, p.Size)
	frames := make([]frame, table.NumFrames())
	for i := range frames {
		f, _ := table.EntryByID(int64(i))
		end := f.CompressedOffset + uint64(f.CompressedSize)
		plainEnd := f.DecompressedOffset + uint64(f.DecompressedSize)
		if end > uint64(len(packed)) || f.DecompressedSize > 2*frameSize {
			return nil, nil, errors.New("its table names other frames")
		}
		frames[i] = frame{packed[f.CompressedOffset:end], plain[f.DecompressedOffset:plainEnd:plainEnd], make(chan struct{}), nil}
	}
	return plain, frames, nil
}

func (f *frame) unpack() error {
	b, err := snapshotDecoder().DecodeAll(f.packed, f.plain[:0])
	if err == nil && len(b) != len(f.plain) {
		err = errOther
	}
	return err
}

// snapshotDecoder unpacks into the room it is given and takes no more. Frames'
// own checksums are left alone: a digest in the manifest is compared.
var snapshotDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})
