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

// errDifferent means that the plain bytes are not those of the manifest.
var errDifferent = errors.New("the bytes differ from those its manifest names")

// Load implements engine.Snapshots. It checks an object that is byte-identical to
// the one stored before it returns. For other objects, and snapshots of several
// parts, the digest of the plain bytes is computed concurrently and may still be
// when Load returns.
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

// isLost reports whether an object is missing or corrupt, as opposed to a store
// that does not answer.
func isLost(err error) bool {
	return errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt)
}

// digestOf starts comparing the digest of m's composed bytes.
func digestOf(plain []byte, m *core.Manifest) func() error {
	sum := make(chan core.Digest, 1)
	go func() { sum <- core.DigestOf(plain) }()
	return compared(sum, m.Whole())
}

// compared returns the check of a digest that sum receives.
func compared(sum <-chan core.Digest, p core.Part) func() error {
	return sync.OnceValue(func() error {
		if <-sum != p.SHA256 {
			return corrupt(p, errDifferent)
		}
		return nil
	})
}

// load returns the plain bytes of a part that is an object.
func (s *Snapshots) load(ctx context.Context, p core.Part) (plain []byte, checked func() error, err error) {
	if packed, ok := s.disk.Get(blobstore.Ref(p.Packed)); ok {
		if plain, err = unpackFrames(packed, p, nil); err == nil {
			return plain, verified, nil
		}
	}
	packed, err := s.packed(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if !p.Packed.IsZero() && core.DigestOf(packed) == p.Packed {
		if plain, err = unpackFrames(packed, p, nil); err == nil {
			s.disk.Add(blobstore.Ref(p.Packed), packed)
			return plain, verified, nil
		}
	}
	return unpackUnverified(packed, p)
}

// verified is the check of bytes that are verified already.
func verified() error { return nil }

// unpackUnverified unpacks an unverified object.
func unpackUnverified(packed []byte, p core.Part) (plain []byte, checked func() error, err error) {
	sum := make(chan core.Digest, 1)
	if plain, err = unpackFrames(packed, p, sum); err != nil {
		// The packer may not have written a frame table.
		sum = make(chan core.Digest, 1)
		plain, err = unpackStream(packed, p, sum)
	}
	if err != nil {
		return nil, nil, corrupt(p, err)
	}
	return plain, compared(sum, p), nil
}

// unpackVerified unpacks an unverified object, and compares the digest of the
// result.
func unpackVerified(packed []byte, p core.Part) ([]byte, error) {
	plain, checked, err := unpackUnverified(packed, p)
	if err != nil {
		return nil, err
	}
	return plain, checked()
}

// Read returns the plain bytes of m's snapshot after comparing their digest.
func (s *Snapshots) Read(ctx context.Context, m *core.Manifest) ([]byte, error) {
	if len(m.Parts) == 0 {
		return s.read(ctx, m.Whole())
	}
	plain, err := s.composeVerified(ctx, m)
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
	return unpackVerified(packed, p)
}

func corrupt(p core.Part, err error) error {
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
	// Compression of incompressible bytes adds less than that.
	most := p.Size + p.Size/64 + 64<<10
	buf := bytes.NewBuffer(make([]byte, 0, 64<<10))
	n, err := io.Copy(buf, io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", p.Object, BlobError(err))
	}
	if p.Size < 0 || n > most {
		return nil, corrupt(p, errDifferent)
	}
	return buf.Bytes(), nil
}

// unpackStream unpacks the snapshot sequentially, and sends the digest of the
// result to sum, which is buffered.
func unpackStream(packed []byte, p core.Part, sum chan<- core.Digest) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var buf bytes.Buffer
	// One byte more than allowed, to notice that there is more.
	n, err := io.Copy(&buf, io.LimitReader(d, p.Size+1))
	if err != nil {
		return nil, err
	}
	if n != p.Size {
		return nil, errDifferent
	}
	sum <- core.DigestOf(buf.Bytes())
	return buf.Bytes(), nil
}

// A frame is a compressed piece of a snapshot and its destination.
type frame struct {
	packed, plain []byte
	done          chan struct{} // closed when it is unpacked
	err           error         // why unpacking failed
}

// unpackFrames unpacks the frames of the snapshot concurrently. If sum is not nil,
// it is buffered and receives the digest of the result, possibly after the return.
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
	// Wait for all frames, so that none is written to afterwards.
	for i := range frames {
		<-frames[i].done
		err = cmp.Or(err, frames[i].err)
	}
	return plain, err
}

// digest sends the digest of the frames to sum, hashing each when it is unpacked.
func digest(frames []frame, sum chan<- core.Digest) {
	h := sha256.New()
	for i := range frames {
		<-frames[i].done
		h.Write(frames[i].plain)
	}
	sum <- core.Digest(h.Sum(nil))
}

// framesOf finds the frames of a snapshot by the table at its end, and allocates
// their destination.
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
		return nil, nil, errDifferent
	}
	if most := table.NumFrames() * 2 * frameSize; p.Size > most { // before allocating what it claims to need
		return nil, nil, errDifferent
	}
	plain := make([]byte, p.Size)
	frames := make([]frame, table.NumFrames())
	for i := range frames {
		f, _ := table.EntryByID(int64(i))
		end := f.CompressedOffset + uint64(f.CompressedSize)
		plainEnd := f.DecompressedOffset + uint64(f.DecompressedSize)
		if end > uint64(len(packed)) || f.DecompressedSize > 2*frameSize {
			return nil, nil, errors.New("its frame table does not match")
		}
		frames[i] = frame{packed[f.CompressedOffset:end], plain[f.DecompressedOffset:plainEnd:plainEnd], make(chan struct{}), nil}
	}
	return plain, frames, nil
}

func (f *frame) unpack() error {
	b, err := snapshotDecoder().DecodeAll(f.packed, f.plain[:0])
	if err == nil && len(b) != len(f.plain) {
		err = errDifferent
	}
	return err
}

// snapshotDecoder decompresses into the destination and allocates no more. It
// ignores the frames' own checksums: the digest of the manifest is compared.
var snapshotDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
})
