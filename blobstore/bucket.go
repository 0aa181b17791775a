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

// A Bucket keeps objects under keys. Its methods may be called from several
// goroutines, and several processes may use the same backend.
//
// Keys that CheckKey refuses give ErrBadKey and touch nothing. Once the context
// has ended a method returns an error that is context.Canceled or
// context.DeadlineExceeded.
type Bucket interface {
	// Put stores the size bytes of src under key, in place of what was there.
	// Once it returns nil the object is durable. After an error the key holds
	// what it held before or, when the answer was lost, the whole new object;
	// putting it again is safe either way. A src that fails, or that has fewer
	// or more bytes than size, stores nothing. Put does not close src.
	//
	// Keys form a tree: where "a" is an object, a Put of "a/b" may be refused
	// with ErrBadKey, and the other way round. What was there is unharmed.
	Put(ctx context.Context, key string, src io.Reader, size int64) error

	// Get returns the object under key, or ErrNotFound. The caller closes it.
	// ctx governs reading, too. The bytes are those of one Put even when
	// another replaces or deletes the object meanwhile; a read that the backend
	// cuts short ends with an error, never with io.EOF.
	Get(ctx context.Context, key string) (io.ReadCloser, error)

	// Stat describes the object under key, or returns ErrNotFound. What it
	// reports is durable: who finds an object need not put it again.
	Stat(ctx context.Context, key string) (Info, error)

	// List yields the objects whose keys begin with prefix, in the order of
	// their bytes. The prefix may end in the middle of a segment; an empty one
	// lists everything. Objects that were there throughout are all yielded,
	// those put or deleted meanwhile may be. An error is yielded once, last,
	// with a zero Info.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]

	// Delete removes the object under key. That there is none is no error. Once
	// it returns nil the object stays away.
	Delete(ctx context.Context, key string) error
}
