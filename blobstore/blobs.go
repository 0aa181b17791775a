package blobstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// BlobInfo describes a blob.
type BlobInfo struct {
	Ref      Ref
	Size     int64
	Modified time.Time // when it was last written, by the backend's clock
}

// Blobs keeps blobs in a Bucket, each under the Ref of its bytes. It is safe for
// concurrent use. Blobs never change, so every call may be retried.
type Blobs struct {
	bucket Bucket
	cache  *cache // may be nil
	disk   *Disk  // may be nil
	puts   puts
	grace  time.Duration
}

// New returns the blobs kept in bucket. It does no I/O.
func New(bucket Bucket) *Blobs { return &Blobs{bucket: bucket, grace: DefaultGrace} }

// NewCached is New with a cache in memory of up to size bytes of recently read
// blobs. Only verified bytes are cached. A blob deleted from the Bucket may still
// be returned from the cache; see Forget.
func NewCached(bucket Bucket, size int64) *Blobs {
	return &Blobs{bucket: bucket, cache: newCache(size), grace: DefaultGrace}
}

// WithDisk makes disk the second-level cache of Get. It returns b, and must be
// called before b is used.
func (b *Blobs) WithDisk(disk *Disk) *Blobs {
	b.disk = disk
	return b
}

// Put stores p and returns its Ref. Once it returns nil the blob is durable and
// protected from sweeps for half the grace period, in which the caller can
// reference it. If the blob exists, is younger than half the grace period and
// intact, Put does not write it again. Put does not retain or modify p.
func (b *Blobs) Put(ctx context.Context, p []byte) (Ref, error) {
	ref := RefOf(p)
	info, err := b.bucket.Stat(ctx, ref.Key())
	fresh := err == nil && info.Size == int64(len(p)) && b.isFresh(info.Modified)
	if fresh {
		err = b.Check(ctx, ref)
	}
	switch {
	case fresh && err == nil:
		b.puts.existed(len(p))
		return ref, nil
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return b.write(ctx, ref, p)
	default:
		return Ref{}, err
	}
}

// Check reads the blob from the Bucket, bypassing all caches. It returns nil if
// the blob is intact, and otherwise ErrNotFound or ErrCorrupt.
func (b *Blobs) Check(ctx context.Context, ref Ref) error {
	r, err := b.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// Rewrite is Put that always writes the blob: to repair a corrupt one, or to
// restart the grace period of an old one before it is referenced again.
func (b *Blobs) Rewrite(ctx context.Context, p []byte) (Ref, error) {
	return b.write(ctx, RefOf(p), p)
}

func (b *Blobs) write(ctx context.Context, ref Ref, p []byte) (Ref, error) {
	if err := b.bucket.Put(ctx, ref.Key(), bytes.NewReader(p), int64(len(p))); err != nil {
		return Ref{}, err
	}
	b.puts.wrote(len(p))
	return ref, nil
}

type uncached struct{}

// WithoutCache returns a context in which Get reads from the Bucket, to find out what
// is there.
func WithoutCache(ctx context.Context) context.Context {
	return context.WithValue(ctx, uncached{}, true)
}

// Get returns the bytes of the blob, ErrNotFound, or ErrCorrupt if the stored
// bytes do not match ref. The caller owns the slice.
func (b *Blobs) Get(ctx context.Context, ref Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("get", ref, err)
	}
	if ctx.Value(uncached{}) == nil {
		if p, ok := b.Cached(ref); ok {
			return p, nil
		}
	}
	r, err := b.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	b.cache.add(ref, p)
	b.disk.Add(ref, p)
	return p, nil
}

// Cached returns the verified bytes of the blob if the memory or disk cache has
// them. The caller owns the slice.
func (b *Blobs) Cached(ref Ref) ([]byte, bool) {
	if p, ok := b.cache.get(ref); ok {
		return bytes.Clone(p), true
	}
	p, ok := b.disk.Get(ref)
	if ok {
		b.cache.add(ref, p)
	}
	return p, ok
}

// Has reports whether the memory or disk cache has the blob. It does not count as
// a read in the statistics.
func (b *Blobs) Has(ref Ref) bool { return b.cache.has(ref) || b.disk.has(ref) }

// Forget drops the blob from the memory and disk caches. Call it when the blob is
// deleted from the Bucket.
func (b *Blobs) Forget(ref Ref) {
	b.cache.drop(ref)
	b.disk.Drop(ref)
}

// Memory returns the statistics of the cache in memory.
func (b *Blobs) Memory() CacheStats { return b.cache.stats() }

// Disk returns the cache on disk, or nil if there is none.
func (b *Blobs) Disk() *Disk { return b.disk }

// Open returns a reader of the blob, which may be in the trash, or ErrNotFound.
// The reader verifies the bytes and returns the last byte only after all of them
// matched ref; otherwise it ends with ErrCorrupt. So a caller that reads to io.EOF
// has the right bytes. The caller must close the reader.
func (b *Blobs) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	src, err := b.bucket.Get(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) {
		src, err = findInTrash(ctx, b, ref, b.bucket.Get)
	}
	if err != nil {
		return nil, err
	}
	return newVerifier(src, ref), nil
}

// Stat describes the blob, which may be in the trash, or returns ErrNotFound. It
// does not read the bytes.
func (b *Blobs) Stat(ctx context.Context, ref Ref) (BlobInfo, error) {
	info, err := b.bucket.Stat(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) {
		info, err = findInTrash(ctx, b, ref, b.bucket.Stat)
	}
	if err != nil {
		return BlobInfo{}, err
	}
	return BlobInfo{Ref: ref, Size: info.Size, Modified: info.Modified}, nil
}

// List yields all blobs except those in the trash, ordered by Ref. It skips
// objects whose keys are not those of a Ref. An error is yielded once, last, with
// a zero BlobInfo.
func (b *Blobs) List(ctx context.Context) iter.Seq2[BlobInfo, error] {
	return b.list(ctx, blobPrefix)
}
