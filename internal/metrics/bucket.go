package metrics

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/sesslog/sesslog/blobstore"
)

// Bucket returns b with its calls counted.
func (m *Metrics) Bucket(b blobstore.Bucket) blobstore.Bucket { return &bucket{b, m} }

type bucket struct {
	b blobstore.Bucket
	m *Metrics
}

func (b *bucket) done(op string, began time.Time, err error) {
	b.m.store.WithLabelValues(op, storeOutcome(err)).Observe(time.Since(began).Seconds())
}

func (b *bucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	began := time.Now()
	err := b.b.Put(ctx, key, src, size)
	b.done("put", began, err)
	return err
}

func (b *bucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	began := time.Now()
	r, err := b.b.Get(ctx, key)
	b.done("get", began, err)
	return r, err
}

func (b *bucket) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	began := time.Now()
	info, err := b.b.Stat(ctx, key)
	b.done("stat", began, err)
	return info, err
}

func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		began, counted := time.Now(), false
		for info, err := range b.b.List(ctx, prefix) {
			if !counted || err != nil { // a later error counts a second time
				b.done("list", began, err)
				counted = true
			}
			if !yield(info, err) {
				return
			}
		}
		if !counted {
			b.done("list", began, nil)
		}
	}
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	began := time.Now()
	err := b.b.Delete(ctx, key)
	b.done("delete", began, err)
	return err
}
