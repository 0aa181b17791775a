package materializer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
)

// Snapshots stores snapshots in a bucket.
type Snapshots struct {
	bucket blobstore.Bucket
	disk   *blobstore.Disk // nil without one
}

// NewSnapshots returns the snapshots in bucket.
func NewSnapshots(bucket blobstore.Bucket) *Snapshots { return &Snapshots{bucket: bucket} }

// WithDisk makes Load read from disk first, and keep there what it reads from the
// bucket. It returns s, and must be called before s is used.
func (s *Snapshots) WithDisk(disk *blobstore.Disk) *Snapshots {
	s.disk = disk
	return s
}

// SnapshotKey returns the key of a session's snapshot at seq, whose plain bytes
// have the digest sum. Two nodes that write the same snapshot write the same
// object.
func SnapshotKey(log string, id core.SessionID, seq uint64, sum core.Digest) string {
	return fmt.Sprintf("snapshots/%s/%s/%020d-%x.jsonl.zst", log, id, seq, sum[:8])
}

// SnapshotSeq returns the seq in a key of SnapshotKey, 0 for any other key.
func SnapshotSeq(key string) uint64 {
	number, _, _ := strings.Cut(path.Base(key), "-")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// IsSnapshotKey reports whether m's object can be a snapshot of its session with
// its bytes: that of m's own record, or of an earlier one with the same lines.
func IsSnapshotKey(m *core.Manifest) bool {
	seq := SnapshotSeq(m.Object)
	return seq > 0 && seq <= m.Seq && m.Object == SnapshotKey(m.Log, m.Session, seq, m.SHA256)
}

// Save writes plain, the plain bytes of m's snapshot, under m.Object as seekable
// zstd, and sets m.Packed. Before that it unpacks and compares the result: readers
// that check m.Packed rely on it. The object is durable when Save returns nil.
func (s *Snapshots) Save(ctx context.Context, m *core.Manifest, plain []byte) error {
	p := m.Whole()
	packed, err := snapshot.PackPart(&p, plain)
	if err != nil {
		return err
	}
	m.Packed = p.Packed
	return s.put(ctx, p.Object, packed)
}

func (s *Snapshots) put(ctx context.Context, key string, packed []byte) error {
	return BlobError(s.bucket.Put(ctx, key, bytes.NewReader(packed), int64(len(packed))))
}

// Keep makes d's snapshot durable, and sets where it is in the manifest. If the
// object exists and can be read, it stays. If the session has not grown enough for
// a whole snapshot, the new one rests on the former one, if that can be read. The
// manifest gets the draft's window, unless it would become too large for a record.
func (s *Snapshots) Keep(ctx context.Context, d *engine.Draft) error {
	if err := s.keepLines(ctx, d); err != nil {
		return err
	}
	return addWindow(d)
}

// keepLines is Keep for the snapshot alone.
func (s *Snapshots) keepLines(ctx context.Context, d *engine.Draft) error {
	if d.WasRead {
		return nil
	}
	if d.Reused {
		_, err := s.Read(ctx, d.Manifest)
		if err == nil || !isLost(err) {
			return err
		}
		d.Manifest.SetParts(nil) // a corrupt object is overwritten
		return s.Save(ctx, d.Manifest, d.Plain)
	}
	if len(d.FormerParts) > 0 && !isAmortizedWhole(d.Manifest) {
		if rests, err := s.keepIncremental(ctx, d); rests || err != nil {
			return err
		}
	}
	return s.Save(ctx, d.Manifest, d.Plain)
}

// Blobs adapts a blob store to storage.Blobs.
type Blobs struct{ store *blobstore.Blobs }

// NewBlobs returns the blobs of store.
func NewBlobs(store *blobstore.Blobs) *Blobs { return &Blobs{store} }

// Put implements storage.Blobs.
func (b *Blobs) Put(ctx context.Context, p []byte) (core.Digest, error) {
	ref, err := b.store.Put(ctx, p)
	return core.Digest(ref), BlobError(err)
}

// Get implements storage.Blobs. The bytes are added to the lease of ctx.
func (b *Blobs) Get(ctx context.Context, d core.Digest) ([]byte, error) {
	p, err := b.store.Get(ctx, blobstore.Ref(d))
	if err != nil {
		return nil, BlobError(err)
	}
	return p, memory.Grow(ctx, int64(len(p)))
}

// BlobError maps errors of blobstore to those of core.
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

// Kept returns the snapshots of a session in the bucket, the oldest first.
func (s *Snapshots) Kept(ctx context.Context, log string, id core.SessionID) ([]blobstore.Info, error) {
	var all []blobstore.Info
	for info, err := range s.bucket.List(ctx, snapshot.Prefix(log, id)) {
		if err != nil {
			return nil, fmt.Errorf("snapshots of session %s: %w", id, BlobError(err))
		}
		all = append(all, info)
	}
	return all, nil
}

// Remove deletes a snapshot. It succeeds if there is none.
func (s *Snapshots) Remove(ctx context.Context, key string) error {
	return BlobError(s.bucket.Delete(ctx, key))
}
