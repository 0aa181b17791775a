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
	// partSize is the size up to which an object is sent in one request, and
	// that of the parts of a larger one. S3 allows 10,000 parts, which makes
	// 80 GiB the largest object.
	partSize = 8 << 20
	attempts = 4 // of one request
)

// A Bucket is a blobstore.Bucket in a bucket of an S3 server. Its methods may
// be called from several goroutines.
type Bucket struct {
	cfg       Config
	prefix    string // in front of every key: empty, or ending with "/"
	client    minio.Core
	transport *http.Transport
	seen      atomic.Bool // the bucket was there
}

var _ blobstore.Bucket = (*Bucket)(nil)

// New returns the Bucket that cfg describes. It does not talk to the server, so
// it works while that is away; see Ready.
func New(cfg Config) (*Bucket, error) {
	b, err := newBucket(cfg, nil)
	if err != nil {
		return nil, fmt.Errorf("s3 blob store: %w", err)
	}
	return b, nil
}

// newBucket is New with something put around the transport, for tests.
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

// Ready returns nil when the server answers, accepts the credentials and shows
// the bucket. With Config.Create it makes a bucket that is missing, until it saw
// it once: in place of one that vanishes an empty one would look like damage.
func (b *Bucket) Ready(ctx context.Context) error {
	err := b.probe(ctx)
	if b.cfg.Create && !b.seen.Load() && isCode(err, minio.NoSuchBucket) {
		err = b.client.MakeBucket(ctx, b.cfg.Bucket, minio.MakeBucketOptions{Region: b.cfg.Region})
		if isCode(err, minio.BucketAlreadyOwnedByYou) { // another node was faster
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("s3 blob store: bucket %q at %s: %w", b.cfg.Bucket, b.client.EndpointURL().Host, name(ctx, err))
	}
	b.seen.Store(true)
	return nil
}

// probe lists, because the answers to everything smaller have no body that
// would say what is wrong.
func (b *Bucket) probe(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // a second page is not wanted
	for info := range b.client.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{Prefix: b.prefix, MaxKeys: 1}) {
		return info.Err
	}
	return ctx.Err()
}

// Put is as in blobstore.Bucket. Whether a key may run through another is the
// server's to say.
func (b *Bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := blobstore.CheckKey(key); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	exact := streams.Exactly(src, size)
	err := b.put(ctx, b.prefix+key, streams.WithContext(ctx, exact), size)
	switch {
	case exact.Err() != nil: // the caller's, whatever minio-go made of it
		return fmt.Errorf("put %s: %w", key, exact.Err())
	case err != nil:
		return fmt.Errorf("put %s: %w", key, name(ctx, err))
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
		return send(src) // cut into parts, each of which can be sent again
	}
	// What cannot be read twice cannot be sent again, so it is kept.
	buf := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	if _, err := buf.ReadFrom(src); err != nil {
		return err
	}
	err := send(bytes.NewReader(buf.Bytes()))
	// A server that keeps objects as files may say this of a directory that a
	// Delete of the last object in it removed meanwhile. If so, it passes, on a busy
	// server after a moment.
	for n := 0; n < passing && isCode(err, objectIsDirectory); n++ {
		select {
		case <-time.After(time.Millisecond << n):
		case <-ctx.Done():
			return ctx.Err()
		}
		err = send(bytes.NewReader(buf.Bytes()))
	}
	return err
}

// passing is how often a put is tried again that met a directory: for a quarter
// of a second.
const passing = 8

// Get is as in blobstore.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := blobstore.CheckKey(key); err != nil {
		return nil, fmt.Errorf("get: %w", err)
	}
	body, _, _, err := b.client.GetObject(ctx, b.cfg.Bucket, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, name(ctx, err))
	}
	return streams.Body(ctx, body, func(err error) error {
		return fmt.Errorf("get %s: %w", key, name(ctx, err))
	}), nil
}

// Stat is as in blobstore.Bucket. S3 answers it without words, so a bucket that
// is gone looks like an object that is not there; Get and Ready tell the two
// apart.
func (b *Bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if err := blobstore.CheckKey(key); err != nil {
		return blobstore.Info{}, fmt.Errorf("stat: %w", err)
	}
	info, err := b.client.StatObject(ctx, b.cfg.Bucket, b.prefix+key, minio.StatObjectOptions{})
	if isCode(err, minio.AccessDenied) {
		// So minio-go takes every 403 without words. Keys, a signature, a clock?
		if told := b.probe(ctx); told != nil {
			err = told
		}
	}
	if err != nil {
		return blobstore.Info{}, fmt.Errorf("stat %s: %w", key, name(ctx, err))
	}
	return blobstore.Info{Key: key, Size: info.Size, Modified: info.LastModified}, nil
}

// List is as in blobstore.Bucket.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := blobstore.CheckPrefix(prefix); err != nil {
			yield(blobstore.Info{}, fmt.Errorf("list: %w", err))
			return
		}
		err := b.list(ctx, prefix, func(info blobstore.Info) bool { return yield(info, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(blobstore.Info{}, fmt.Errorf("list %s: %w", prefix, name(ctx, err)))
		}
	}
}

var (
	errStopped = errors.New("the caller stopped ranging")
	errOrder   = errors.New("its listing is not in key order")
)

func (b *Bucket) list(ctx context.Context, prefix string, yield func(blobstore.Info) bool) error {
	last := ""
	for info := range b.client.ListObjectsIter(ctx, b.cfg.Bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if info.Err != nil {
			return info.Err
		}
		key, found := strings.CutPrefix(info.Key, b.prefix)
		if !found || blobstore.CheckKey(key) != nil {
			continue // not ours
		}
		// Who merges lists or goes on behind a key relies on the order, and not
		// every server that says S3 means it.
		if key <= last {
			return fmt.Errorf("the server lists %q behind %q: %w", key, last, errOrder)
		}
		last = key
		if !yield(blobstore.Info{Key: key, Size: info.Size, Modified: info.LastModified}) {
			return errStopped
		}
	}
	return ctx.Err() // minio-go ends a list quietly when it ends
}

// Delete is as in blobstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := blobstore.CheckKey(key); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	err := b.client.RemoveObject(ctx, b.cfg.Bucket, b.prefix+key, minio.RemoveObjectOptions{})
	if err != nil && !isCode(err, minio.NoSuchKey) {
		return fmt.Errorf("delete %s: %w", key, name(ctx, err))
	}
	return nil
}

// Close lets go of idle connections. Calls and readers under way are not
// disturbed; it may be called more than once.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}
