package materializer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"

	seekable "github.com/SaveTheRbtz/zstd-seekable-format-go/pkg"
	"github.com/klauspost/compress/zstd"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// frameSize is how many plain bytes one zstd frame of a snapshot holds, so a
// part of a large snapshot can be read without the rest.
const frameSize = 256 << 10

// Snapshots keeps snapshots in a bucket.
type Snapshots struct {
	bucket blobstore.Bucket
	disk   *blobstore.Disk // nil without one
}

// NewSnapshots returns the snapshots kept in bucket.
func NewSnapshots(bucket blobstore.Bucket) *Snapshots { return &Snapshots{bucket: bucket} }

// WithDisk has Load look into disk first, and keep there what it read from the
// bucket. It returns s, and is called before s is used.
func (s *Snapshots) WithDisk(disk *blobstore.Disk) *Snapshots {
	s.disk = disk
	return s
}

// SnapshotKey is the key of the snapshot of a session that covers its record
// seq and whose plain bytes have the digest sum. Two nodes that write the same
// snapshot write the same object.
func SnapshotKey(log string, id core.SessionID, seq uint64, sum core.Digest) string {
	return fmt.Sprintf("snapshots/%s/%s/%020d-%x.jsonl.zst", log, id, seq, sum[:8])
}

// SnapshotSeq is the seq that a key of SnapshotKey names, 0 where it is none.
func SnapshotSeq(key string) uint64 {
	number, _, _ := strings.Cut(path.Base(key), "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// IsSnapshotKey reports whether m's object is one that a snapshot of its session
// and of its bytes can have: that of m's own record, or of an earlier one where the
// lines had not changed since.
func IsSnapshotKey(m *core.Manifest) bool {
	seq := SnapshotSeq(m.Object)
	return seq > 0 && seq <= m.Seq && m.Object == SnapshotKey(m.Log, m.Session, seq, m.SHA256)
}

// Save writes plain, the plain bytes of m's snapshot, under m.Object as seekable
// zstd, and sets m.Packed. It is durable when Save returns nil. Before, it was
// unpacked again and compared: who reads an object by m.Packed relies on that.
func (s *Snapshots) Save(ctx context.Context, m *core.Manifest, plain []byte) error {
	p := m.Whole()
	packed, err := packPart(&p, plain)
	if err != nil {
		return err
	}
	m.Packed = p.Packed
	return s.put(ctx, p.Object, packed)
}

func (s *Snapshots) put(ctx context.Context, key string, packed []byte) error {
	return BlobError(s.bucket.Put(ctx, key, bytes.NewReader(packed), int64(len(packed))))
}

// packPart packs plain, which p says the size of, unpacks that again to compare
// it, and sets p.Packed.
func packPart(p *core.Part, plain []byte) ([]byte, error) {
	packed, err := packSnapshot(plain)
	if err != nil {
		return nil, fmt.Errorf("compress snapshot %s: %w", p.Object, err)
	}
	again, err := unpackFrames(packed, *p, nil)
	if err != nil || !bytes.Equal(again, plain) {
		return nil, fmt.Errorf("snapshot %s comes back as something else when it is packed, nothing was stored: %w", p.Object, errors.Join(err, core.ErrCorrupt))
	}
	p.Packed = core.DigestOf(packed)
	return packed, nil
}

// Keep makes d's snapshot durable, and has its manifest say where. One that is
// there is left there, if it can be read. One that the session has not grown
// enough for rests on the former one, if that can be read.
func (s *Snapshots) Keep(ctx context.Context, d *engine.Draft) error {
	if d.Read {
		return nil
	}
	if d.Kept {
		_, err := s.Read(ctx, d.Manifest)
		if err == nil || !isLost(err) {
			return err
		}
		d.Manifest.SetParts(nil) // it is written over what is damaged, where that is so
		return s.Save(ctx, d.Manifest, d.Plain)
	}
	if len(d.Former) > 0 && !isPaid(d.Manifest) {
		if rests, err := s.rest(ctx, d); rests || err != nil {
			return err
		}
	}
	return s.Save(ctx, d.Manifest, d.Plain)
}

func packSnapshot(plain []byte) ([]byte, error) {
	e, err := seekable.NewEncoder(snapshotEncoder())
	if err != nil {
		return nil, err
	}
	var out []byte
	for len(plain) > 0 {
		n := min(frameSize, len(plain))
		frame, err := e.Encode(plain[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, frame...)
		plain = plain[n:]
	}
	table, err := e.EndStream()
	return append(out, table...), err
}

var snapshotEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

// Blobs fits a blob store to core.Blobs.
type Blobs struct{ store *blobstore.Blobs }

// NewBlobs returns the blobs of store.
func NewBlobs(store *blobstore.Blobs) *Blobs { return &Blobs{store} }

// Put implements core.Blobs.
func (b *Blobs) Put(ctx context.Context, p []byte) (core.Digest, error) {
	ref, err := b.store.Put(ctx, p)
	return core.Digest(ref), BlobError(err)
}

// Get implements core.Blobs.
func (b *Blobs) Get(ctx context.Context, d core.Digest) ([]byte, error) {
	p, err := b.store.Get(ctx, blobstore.Ref(d))
	return p, BlobError(err)
}

// BlobError turns the errors of blobstore into those of core.
func BlobError(err error) error {
	for from, to := range map[error]error{
		blobstore.ErrNotFound:    core.ErrNotFound,
		blobstore.ErrCorrupt:     core.ErrCorrupt,
		blobstore.ErrUnavailable: core.ErrUnavailable,
		blobstore.ErrRefused:     core.ErrUnavailable,
		syscall.ENOSPC:           core.ErrFull,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", err, to)
		}
	}
	return err
}
