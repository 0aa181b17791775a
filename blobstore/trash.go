package blobstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"strings"
	"time"
)

// Every move to the trash creates a copy under a unique key, and nothing else is
// ever written there. So an old copy is not part of a running sweep, and
// concurrent sweeps cannot take each other's copies.

const trashPrefix = "trash/sha256/"

// Trashed describes a copy of a blob in the trash.
type Trashed struct {
	Ref  Ref
	Key  string
	Size int64
	At   time.Time // when it was moved to the trash, by the backend's clock
}

// trashKeys returns the key prefix of the blob's copies in the trash.
func (r Ref) trashKeys() string {
	digits := hex.EncodeToString(r[:])
	return trashPrefix + digits[:2] + "/" + digits + "-"
}

// refOfTrash returns the Ref of a key that starts with trashKeys.
func refOfTrash(key string) (Ref, bool) {
	name, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "-")
	ref, ok := parseDigits(name)
	return ref, ok && strings.HasPrefix(key, ref.trashKeys())
}

// Trash yields the copies in the trash, ordered by Ref. A blob that was moved
// there more than once has several copies. An error is yielded once, last.
func (b *Blobs) Trash(ctx context.Context) iter.Seq2[Trashed, error] {
	return b.copies(ctx, trashPrefix)
}

func (b *Blobs) copies(ctx context.Context, prefix string) iter.Seq2[Trashed, error] {
	return func(yield func(Trashed, error) bool) {
		for info, err := range b.bucket.List(ctx, prefix) {
			if err != nil {
				yield(Trashed{}, err)
				return
			}
			ref, ok := refOfTrash(info.Key)
			if ok && !yield(Trashed{Ref: ref, Key: info.Key, Size: info.Size, At: info.Modified}, nil) {
				return
			}
		}
	}
}

// Discard moves the blob to the trash if it was last written before the given
// time, and reports whether it did. The copy is durable before the blob is
// deleted, so the blob stays readable; an interrupted Discard leaves it in place,
// or in both places.
func (b *Blobs) Discard(ctx context.Context, ref Ref, before time.Time) (moved bool, err error) {
	info, err := b.bucket.Stat(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) || err == nil && !info.Modified.Before(before) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	src, err := b.bucket.Get(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) { // a concurrent sweep moved it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer src.Close()
	if err := b.bucket.Put(ctx, ref.trashKeys()+rand.Text(), src, info.Size); err != nil {
		return false, err
	}
	if err := b.bucket.Delete(ctx, ref.Key()); err != nil {
		return false, err
	}
	return true, nil
}

// Restore writes the blob from an intact copy in the trash, and keeps the copies.
// It returns ErrNotFound if there is no copy, ErrCorrupt if all are corrupt.
func (b *Blobs) Restore(ctx context.Context, ref Ref) error {
	_, err := findInTrash(ctx, b, ref, func(ctx context.Context, key string) (struct{}, error) {
		if key == ref.Key() { // it was put in the meantime
			_, err := b.bucket.Stat(ctx, key)
			return struct{}{}, err
		}
		return struct{}{}, b.restoreCopy(ctx, ref, key)
	})
	return err
}

func (b *Blobs) restoreCopy(ctx context.Context, ref Ref, key string) error {
	info, err := b.bucket.Stat(ctx, key)
	if err != nil {
		return err
	}
	src, err := b.bucket.Get(ctx, key)
	if err != nil {
		return err
	}
	defer src.Close()
	return b.bucket.Put(ctx, ref.Key(), newVerifier(src, ref), info.Size)
}

// Purge deletes a copy from the trash permanently.
func (b *Blobs) Purge(ctx context.Context, t Trashed) error {
	b.Forget(t.Ref)
	return b.bucket.Delete(ctx, t.Key)
}

// findInTrash calls find with the keys of a blob's copies in the trash until one
// is usable. At last it tries the blob's own key again: the blob may have been
// restored in the meantime.
func findInTrash[T any](ctx context.Context, b *Blobs, ref Ref, find func(context.Context, string) (T, error)) (T, error) {
	var none T
	var corrupt error
	for t, err := range b.copies(ctx, ref.trashKeys()) {
		if err != nil {
			return none, err
		}
		found, err := find(ctx, t.Key)
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, ErrCorrupt):
			corrupt = err
		case !errors.Is(err, ErrNotFound):
			return none, err
		}
	}
	found, err := find(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) && corrupt != nil {
		return none, corrupt
	}
	return found, err
}
