package snapshot

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/core"
)

// ErrDifferent means that the plain bytes are not those of the manifest.
var ErrDifferent = errors.New("the bytes differ from those its manifest names")

// DigestOf starts comparing the digest of m's composed bytes.
func DigestOf(plain []byte, m *core.Manifest) func() error {
	sum := make(chan core.Digest, 1)
	go func() { sum <- core.DigestOf(plain) }()
	return compared(sum, m.Whole())
}

// compared returns the check of a digest that sum receives.
func compared(sum <-chan core.Digest, p core.Part) func() error {
	return sync.OnceValue(func() error {
		if <-sum != p.SHA256 {
			return Corrupt(p, ErrDifferent)
		}
		return nil
	})
}

// UnpackUnverified unpacks an unverified object.
func UnpackUnverified(packed []byte, p core.Part) (plain []byte, checked func() error, err error) {
	sum := make(chan core.Digest, 1)
	if plain, err = UnpackFrames(packed, p, sum); err != nil {
		// The packer may not have written a frame table.
		sum = make(chan core.Digest, 1)
		plain, err = unpackStream(packed, p, sum)
	}
	if err != nil {
		return nil, nil, Corrupt(p, err)
	}
	return plain, compared(sum, p), nil
}

// UnpackVerified unpacks an unverified object, and compares the digest of the
// result.
func UnpackVerified(packed []byte, p core.Part) ([]byte, error) {
	plain, checked, err := UnpackUnverified(packed, p)
	if err != nil {
		return nil, err
	}
	return plain, checked()
}

// maxPlain limits the plain bytes of a snapshot without a manifest.
const maxPlain = 1 << 30

// Unpack returns the plain bytes of an object without its manifest. The caller
// compares their digest.
func Unpack(packed []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	plain, err := io.ReadAll(io.LimitReader(d, maxPlain+1))
	if err == nil && len(plain) > maxPlain {
		err = ErrDifferent
	}
	return plain, err
}

// Corrupt returns err as core.ErrCorrupt of a part.
func Corrupt(p core.Part, err error) error {
	what := "snapshot " + p.Object
	if p.Object == "" {
		what = "change of a snapshot"
	}
	return fmt.Errorf("%s: %v: %w", what, err, core.ErrCorrupt)
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
		return nil, ErrDifferent
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

// UnpackFrames unpacks the frames of the snapshot concurrently. If sum is not nil,
// it is buffered and receives the digest of the result, possibly after the return.
func UnpackFrames(packed []byte, p core.Part, sum chan<- core.Digest) ([]byte, error) {
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
		return nil, nil, ErrDifferent
	}
	if most := table.NumFrames() * 2 * frameSize; p.Size > most { // before allocating what it claims to need
		return nil, nil, ErrDifferent
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
		err = ErrDifferent
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
