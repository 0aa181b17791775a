package s3blob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/internal/streams"
)

const (
	// partSize is the size of the largest object that is sent in one request,
	// and of the parts of a larger one. S3 allows 10,000 parts, so the largest
	// object has 80 GiB.
	partSize = 8 << 20
	attempts = 4 // per request
	// directoryRetries bounds the retries of a Put that met a directory, over a
	// quarter of a second.
	directoryRetries = 8
)

// A Bucket is a blobstore.Bucket in a bucket of an S3 server. It is safe for
// concurrent use.
type Bucket struct {
	cfg       Config
	prefix    string // of every key: empty, or ending with "/"
	client    minio.Core
	transport *http.Transport
	seen      atomic.Bool // the bucket existed at some time
}

var _ blobstore.Bucket = (*Bucket)(nil)

// New returns the Bucket that cfg describes. It does not connect to the server; see
// Ready.
func New(cfg Config) (*Bucket, error) {
	b, err := newBucket(cfg, nil)
	if err != nil {
		return nil, fmt.Errorf("s3 blob store: %w", err)
	}
	return b, nil
}

// newBucket is New with an optional wrapper of the transport, for tests.
func newBucket(cfg Config, wrap func(http.RoundTripper) http.RoundTripper) (*Bucket, error) {
	host, secure, err := cfg.check()
	if err != nil {
		return nil, err
	}
	t, err := cfg.tlsConfig()
	if err != nil {
		return nil, err
	}
	b := &Bucket{cfg: cfg, transport: newTransport(t, cmp.Or(cfg.stall, stallTimeout))}
	if cfg.Prefix != "" {
		b.prefix = cfg.Prefix + "/"
	}
	options := &minio.Options{
		Creds:      cfg.credentials(),
		Secure:     secure,
		Transport:  b.transport,
		Region:     cfg.Region,
		MaxRetries: attempts,
	}
	if wrap != nil {
		options.Transport = wrap(b.transport)
	}
	if cfg.PathStyle {
		options.BucketLookup = minio.BucketLookupPath
	}
	client, err := minio.New(host, options)
	if err != nil {
		return nil, err
	}
	b.client = minio.Core{Client: client}
	return b, nil
}

// Ready returns nil if the server responds, accepts the credentials and has the
// bucket. With Config.Create it creates a missing bucket, unless it has seen the
// bucket before: it must not replace a deleted bucket by an empty one.
func (b *Bucket) Ready(ctx context.Context) error {
	err := b.probe(ctx)
	if b.cfg.Create && !b.seen.Load() && isCode(err, minio.NoSuchBucket) {
		err = b.client.MakeBucket(ctx, b.cfg.Bucket, minio.MakeBucketOptions{Region: b.cfg.Region})
		if isCode(err, minio.BucketAlreadyOwnedByYou) { // created concurrently by another node
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("s3 blob store: bucket %q at %s: %w", b.cfg.Bucket, b.client.EndpointURL().Host, mapError(ctx, err))
	}
	b.seen.Store(true)
	return nil
}

// probe lists one object. Smaller requests have no response body that would explain
// an error.
func (b *Bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // do not request a second page
	for info := range b.client.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{Prefix: b.prefix, MaxKeys: 1}) {
		return info.Err
	}
	return ctx.Err()
}

// Put implements blobstore.Bucket. Whether a key may be a parent of another depends
// on the server.
func (b *Bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := blobstore.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	exact := streams.Exactly(src, size)
	err := b.put(ctx, b.prefix+key, streams.WithContext(ctx, exact), size)
	switch {
	case exact.Err() != nil: // the source failed, not the server
		return fmt.Errorf("put %s: %w", key, exact.Err())
	case err != nil:
		return fmt.Errorf("put %s: %w", key, mapError(ctx, err))
	}
	return nil
}

func (b *Bucket) put(ctx context.Context, object string, src io.Reader, size int64) error {
	send := func(body io.Reader) error {
		_, err := b.client.Client.PutObject(ctx, b.cfg.Bucket, object, body, size, minio.PutObjectOptions{
			ContentType:    "application/octet-stream",
			SendContentMd5: true,
			PartSize:       partSize,
		})
		return err
	}
	if size < 0 || size > partSize {
		return send(src) // minio-go buffers and retries parts
	}
	// A retry needs to read the body again, so buffer it.
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := buf.ReadFrom(src); err != nil {
		return err
	}
	err := send(bytes.NewReader(buf.Bytes()))
	// A server that keeps objects as files may report a directory that a
	// concurrent Delete of its last object is removing. That error is transient.
	for n := 0; n < directoryRetries && isCode(err, objectIsDirectory); n++ {
		select {
		case <-time.After(time.Millisecond << n):
		case <-ctx.Done():
			return ctx.Err()
		}
		err = send(bytes.NewReader(buf.Bytes()))
	}
	return err
}

// Get implements blobstore.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := blobstore.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	body, _, _, err := b.client.GetObject(ctx, b.cfg.Bucket, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, mapError(ctx, err))
	}
	return streams.Body(ctx, body, func(err error) error {
		return fmt.Errorf("get %s: %w", key, mapError(ctx, err))
	}), nil
}

// Stat implements blobstore.Bucket. The response has no body, so Stat returns
// ErrNotFound also if the bucket is missing; Get and Ready distinguish the two.
func (b *Bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if err := blobstore.CheckKey(key); err != nil {
		return blobstore.Info{}, fmt.Errorf("stat: %w", err)
	}
	info, err := b.client.StatObject(ctx, b.cfg.Bucket, b.prefix+key, minio.StatObjectOptions{})
	if isCode(err, minio.AccessDenied) {
		// minio-go returns this for every 403 without a body. Find the cause.
		if cause := b.probe(ctx); cause != nil {
			err = cause
		}
	}
	if err != nil {
		return blobstore.Info{}, fmt.Errorf("stat %s: %w", key, mapError(ctx, err))
	}
	return blobstore.Info{Key: key, Size: info.Size, Modified: info.LastModified}, nil
}

// List implements blobstore.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := blobstore.CheckPrefix(prefix); err != nil {
			yield(blobstore.Info{}, fmt.Errorf("list: %w", err))
			return
		}
		err := b.list(ctx, prefix, func(info blobstore.Info) bool { return yield(info, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(blobstore.Info{}, fmt.Errorf("list %s: %w", prefix, mapError(ctx, err)))
		}
	}
}

var (
	errStopped = errors.New("the caller stopped ranging")
	errOrder   = errors.New("the listing is not in key order")
)

func (b *Bucket) list(ctx context.Context, prefix string, yield func(blobstore.Info) bool) error {
	last := ""
	for info := range b.client.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if info.Err != nil {
			return info.Err
		}
		key, found := strings.CutPrefix(info.Key, b.prefix)
		if !found || blobstore.CheckKey(key) != nil {
			continue // not an object of this store
		}
		// Callers rely on the order to merge lists and to continue after a key,
		// and not every S3 server guarantees it.
		if key <= last {
			return fmt.Errorf("the server lists %q after %q: %w", key, last, errOrder)
		}
		last = key
		if !yield(blobstore.Info{Key: key, Size: info.Size, Modified: info.LastModified}) {
			return errStopped
		}
	}
	return ctx.Err() // minio-go ends the list without an error if ctx ends
}

// Delete implements blobstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := blobstore.CheckKey(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	err := b.client.RemoveObject(ctx, b.cfg.Bucket, b.prefix+key, minio.RemoveObjectOptions{})
	if err != nil && !isCode(err, minio.NoSuchKey) {
		return fmt.Errorf("delete %s: %w", key, mapError(ctx, err))
	}
	return nil
}

// Close closes idle connections. It does not affect calls and readers in progress,
// and may be called more than once.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}
