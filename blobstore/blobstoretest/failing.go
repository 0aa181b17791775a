package blobstoretest

import (
	"context"
	"io"
	"iter"

	"github.com/sesslog/sesslog/blobstore"
)

// An Op names a method of a blobstore.Bucket.
type Op string

// The methods of a blobstore.Bucket.
const (
	Put    Op = "put"
	Get    Op = "get"
	Stat   Op = "stat"
	List   Op = "list"
	Delete Op = "delete"
)

// A Failing is a Bucket that calls Before first. If Before returns an error, the
// call returns it and does not reach Bucket.
type Failing struct {
	Bucket blobstore.Bucket
	// Before runs on the caller's goroutine and may block. For List, key is the
	// prefix.
	Before func(ctx context.Context, op Op, key string) error
}

var _ blobstore.Bucket = Failing{}

// Put implements blobstore.Bucket.
func (f Failing) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := f.Before(ctx, Put, key); err != nil {
		return err
	}
	return f.Bucket.Put(ctx, key, src, size)
}

// Get implements blobstore.Bucket.
func (f Failing) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := f.Before(ctx, Get, key); err != nil {
		return nil, err
	}
	return f.Bucket.Get(ctx, key)
}

// Stat implements blobstore.Bucket.
func (f Failing) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if err := f.Before(ctx, Stat, key); err != nil {
		return blobstore.Info{}, err
	}
	return f.Bucket.Stat(ctx, key)
}

// List implements blobstore.Bucket.
func (f Failing) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	return func(yield func(blobstore.Info, error) bool) {
		if err := f.Before(ctx, List, prefix); err != nil {
			yield(blobstore.Info{}, err)
			return
		}
		f.Bucket.List(ctx, prefix)(yield)
	}
}

// Delete implements blobstore.Bucket.
func (f Failing) Delete(ctx context.Context, key string) error {
	if err := f.Before(ctx, Delete, key); err != nil {
		return err
	}
	return f.Bucket.Delete(ctx, key)
}
