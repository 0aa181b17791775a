package blobstore

import (
	"context"
	"io"
	"iter"
	"time"
)

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time // when it was last written, by the backend's clock
}

// A Bucket keeps objects under keys. It is safe for concurrent use, and several
// processes may use the same backend.
//
// If CheckKey rejects a key, a method returns ErrBadKey and changes nothing. After
// the context ends, a method returns an error that is context.Canceled or
// context.DeadlineExceeded.
type Bucket interface {
	// Put stores the size bytes of src under key, replacing any object there.
	// Once it returns nil the object is durable. After an error the key holds
	// the old object or, if the response was lost, the complete new one;
	// retrying is safe. If src fails, or has fewer or more bytes than size, Put
	// stores nothing. Put does not close src.
	//
	// Keys form a tree: if "a" is an object, a Put of "a/b" may fail with
	// ErrBadKey, and vice versa. The existing objects stay intact.
	Put(ctx context.Context, key string, src io.Reader, size int64) error

	// Get returns a reader of the object under key, or ErrNotFound. The caller
	// must close it. ctx also covers the reads. The bytes are those of a single
	// Put, even if the object is replaced or deleted during the read; if the
	// backend ends the read early, it ends with an error, never with io.EOF.
	Get(ctx context.Context, key string) (io.ReadCloser, error)

	// Stat describes the object under key, or returns ErrNotFound. An object that
	// it reports is durable and need not be put again.
	Stat(ctx context.Context, key string) (Info, error)

	// List yields the objects whose keys begin with prefix, in byte order. The
	// prefix may end in the middle of a segment; an empty prefix lists
	// everything. Objects put or deleted during the listing may or may not be
	// yielded; all others are. An error is yielded once, last, with a zero Info.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Delete removes the object under key. It is not an error if there is none.
	// Once it returns nil the removal is durable.
	Delete(ctx context.Context, key string) error
}
