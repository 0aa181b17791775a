package memblob

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/internal/streams"
)

// A Bucket is a blobstore.Bucket in memory. The zero Bucket is empty and ready
// to use; it must not be copied.
type Bucket struct {
	mu      sync.RWMutex
	objects map[string]object
}

type object struct {
	bytes    []byte // never modified
	modified time.Time
}

var _ blobstore.Bucket = (*Bucket)(nil)

// New returns an empty Bucket.
func New() *Bucket { return &Bucket{} }

// Put implements blobstore.Bucket. It rejects a key that is a parent or a child of
// another.
func (b *Bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := check(ctx, "put", key); err != nil {
		return err
	}
	p, err := io.ReadAll(streams.WithContext(ctx, streams.Exactly(src, size)))
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	for other := range b.objects {
		if strings.HasPrefix(other, key+"/") || strings.HasPrefix(key, other+"/") {
			return fmt.Errorf("put %s: conflicts with object %s: %w", key, other, blobstore.ErrBadKey)
		}
	}
	if b.objects == nil {
		b.objects = make(map[string]object)
	}
	b.objects[key] = object{bytes: p, modified: time.Now()}
	return nil
}

// Get implements blobstore.Bucket.
func (b *Bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	o, err := b.find(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	return streams.Body(ctx, io.NopCloser(bytes.NewReader(o.bytes)), func(err error) error {
		return fmt.Errorf("get %s: %w", key, err)
	}), nil
}

// Stat implements blobstore.Bucket.
func (b *Bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	o, err := b.find(ctx, "stat", key)
	if err != nil {
		return blobstore.Info{}, err
	}
	return o.info(key), nil
}

// List implements blobstore.Bucket. It yields the objects that existed when it
// started.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := blobstore.CheckPrefix(prefix); err != nil {
			yield(blobstore.Info{}, fmt.Errorf("list: %w", err))
			return
		}
		b.mu.RLock()
		objects := maps.Clone(b.objects)
		b.mu.RUnlock()
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(blobstore.Info{}, fmt.Errorf("list %s: %w", prefix, err))
				return
			}
			if !yield(objects[key].info(key), nil) {
				return
			}
		}
	}
}

// Delete implements blobstore.Bucket.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := check(ctx, "delete", key); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.objects, key)
	return nil
}

func (b *Bucket) find(ctx context.Context, op, key string) (object, error) {
	if err := check(ctx, op, key); err != nil {
		return object{}, err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	o, ok := b.objects[key]
	if !ok {
		return object{}, fmt.Errorf("%s %s: %w", op, key, blobstore.ErrNotFound)
	}
	return o, nil
}

func (o object) info(key string) blobstore.Info {
	return blobstore.Info{Key: key, Size: int64(len(o.bytes)), Modified: o.modified}
}

func check(ctx context.Context, op, key string) error {
	if err := blobstore.CheckKey(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", op, key, err)
	}
	return nil
}
