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

// Blobs keeps blobs in a Bucket, each under the Ref of its bytes. Its methods
// may be called from several goroutines. Blobs never change, so every call may
// be repeated.
type Blobs struct {
	bucket Bucket
	cache  *cache // nil without one
	disk   *Disk  // nil without one
	puts   puts
	grace  time.Duration
}

// New returns the blobs kept in bucket. Nothing is read or written by it.
func New(bucket Bucket) *Blobs { return &Blobs{bucket: bucket, grace: DefaultGrace} }

// NewCached is New with up to size bytes of the blobs last got kept in memory.
// Only bytes that were checked are kept. A blob that somebody deletes from the
// Bucket may still be got while it is in the cache.
func NewCached(bucket Bucket, size int64) *Blobs {
	return &Blobs{bucket: bucket, cache: newCache(size), grace: DefaultGrace}
}

// WithDisk has Get look into disk behind its memory, and keep there what it read
// from the Bucket. It returns b, and is called before b is used.
func (b *Blobs) WithDisk(disk *Disk) *Blobs {
	b.disk = disk
	return b
}

// Put keeps p and returns its Ref. Once it returns nil the blob is durable, and
// no sweep takes it for half the grace: time to name it somewhere. A blob that is
// there already, younger than half the grace, is read and, if it is sound, not
// written again; an older one is, and a damaged one. Put does not keep or change
// p.
func (b *Blobs) Put(ctx context.Context, p []byte) (Ref, error) {
	ref := RefOf(p)
	info, err := b.bucket.Stat(ctx, ref.Key())
	fresh := err == nil && info.Size == int64(len(p)) && b.young(info.Modified)
	if fresh {
		err = b.Check(ctx, ref)
	}
	switch {
	case fresh && err == nil:
		b.puts.found(len(p))
		return ref, nil
	case err == nil, errors.Is(err, ErrNotFound), errors.Is(err, ErrCorrupt):
		return b.write(ctx, ref, p)
	default:
		return Ref{}, err
	}
}

// Check reads the blob that ref names from the Bucket, past all caches. It
// returns nil for a sound one, ErrNotFound or ErrCorrupt.
func (b *Blobs) Check(ctx context.Context, ref Ref) error {
	r, err := b.Open(ctx, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err
}

// Rewrite is Put that writes the blob even if it is there: to repair one that
// is ErrCorrupt, or to make an old one young again before its bytes are relied
// on anew.
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

// Get returns the bytes that ref names, ErrNotFound, or ErrCorrupt when what is
// stored is something else. The slice is the caller's.
func (b *Blobs) Get(ctx context.Context, ref Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, opError("get", ref, err)
	}
	if p, ok := b.Cached(ref); ok {
		return p, nil
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

// Cached returns the bytes that ref names if memory or disk here has them. They
// were checked. The slice is the caller's.
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

// Has reports whether memory or disk here has the blob that ref names. It is not
// counted as a read.
func (b *Blobs) Has(ref Ref) bool { return b.cache.has(ref) || b.disk.has(ref) }

// Forget has memory and disk here let go of the blob that ref names. Whoever
// deletes it from the Bucket calls that.
func (b *Blobs) Forget(ref Ref) {
	b.cache.drop(ref)
	b.disk.Drop(ref)
}

// Memory returns how the cache in memory fares.
func (b *Blobs) Memory() CacheFigures { return b.cache.figures() }

// Disk returns the cache on disk; nil without one.
func (b *Blobs) Disk() *Disk { return b.disk }

// Open returns a reader of the bytes that ref names, also where they lie in the
// trash, or ErrNotFound. A reader of anything else ends with ErrCorrupt, and the
// last byte is held back until all are checked: who has read to io.EOF has the
// true bytes, and who has not knows that bytes are missing. The caller closes it.
func (b *Blobs) Open(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	src, err := b.bucket.Get(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) {
		src, err = inTrash(ctx, b, ref, b.bucket.Get)
	}
	if err != nil {
		return nil, err
	}
	return newVerifier(src, ref), nil
}

// Stat describes the blob that ref names, also where it lies in the trash, or
// returns ErrNotFound. It does not look at the bytes.
func (b *Blobs) Stat(ctx context.Context, ref Ref) (BlobInfo, error) {
	info, err := b.bucket.Stat(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) {
		info, err = inTrash(ctx, b, ref, b.bucket.Stat)
	}
	if err != nil {
		return BlobInfo{}, err
	}
	return BlobInfo{Ref: ref, Size: info.Size, Modified: info.Modified}, nil
}

// List yields all blobs but those in the trash, in the order of their Refs.
// Objects among them whose keys no Ref has are passed over. An error is yielded
// once, last, with a zero BlobInfo.
func (b *Blobs) List(ctx context.Context) iter.Seq2[BlobInfo, error] {
	return b.list(ctx, blobPrefix)
}
