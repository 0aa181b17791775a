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

// Every move to the trash makes a copy under a key of its own, and nothing else
// is ever written there. So a copy that is old is nobody's work of this moment,
// and sweeps that run at the same time cannot take each other's copies.

const trashPrefix = "trash/sha256/"

// Trashed is a copy of a blob that lies in the trash.
type Trashed struct {
	Ref  Ref
	Key  string
	Size int64
	At   time.Time // when it was moved there, by the backend's clock
}

// trashKeys is the prefix of the keys of the blob's copies in the trash.
func (r Ref) trashKeys() string {
	digits := hex.EncodeToString(r[:])
	return trashPrefix + digits[:2] + "/" + digits + "-"
}

// refOfTrash is the Ref of a key below trashKeys.
func refOfTrash(key string) (Ref, bool) {
	name, _, _ := strings.Cut(key[strings.LastIndexByte(key, '/')+1:], "-")
	ref, ok := parseDigits(name)
	return ref, ok && strings.HasPrefix(key, ref.trashKeys())
}

// Trash yields what lies in the trash, in the order of the Refs. A blob that was
// moved there more than once has several copies. An error is yielded once, last.
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

// Discard moves the blob that ref names to the trash if it was last written
// before that time, and reports whether it did. The copy is durable before the
// blob goes, so it can be read throughout; a Discard that is cut short leaves the
// blob where it is, or in both places.
func (b *Blobs) Discard(ctx context.Context, ref Ref, before time.Time) (moved bool, err error) {
	info, err := b.bucket.Stat(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) || err == nil && !info.Modified.Before(before) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	src, err := b.bucket.Get(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) { // another sweep was first
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

// PutBack writes the blob that ref names again from a sound copy in the trash, and
// leaves the copies where they are. ErrNotFound where there is none, ErrCorrupt
// where all are damaged.
func (b *Blobs) PutBack(ctx context.Context, ref Ref) error {
	_, err := inTrash(ctx, b, ref, func(ctx context.Context, key string) (struct{}, error) {
		if key == ref.Key() { // somebody put it meanwhile
			_, err := b.bucket.Stat(ctx, key)
			return struct{}{}, err
		}
		return struct{}{}, b.restore(ctx, ref, key)
	})
	return err
}

func (b *Blobs) restore(ctx context.Context, ref Ref, key string) error {
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

// Purge deletes a copy from the trash, for good.
func (b *Blobs) Purge(ctx context.Context, t Trashed) error {
	b.Forget(t.Ref)
	return b.bucket.Delete(ctx, t.Key)
}

// inTrash has find look at the copies of a blob that is not in its place, until
// it finds a usable one. In the end it looks at the place again: the blob may have
// been put back meanwhile.
func inTrash[T any](ctx context.Context, b *Blobs, ref Ref, find func(context.Context, string) (T, error)) (T, error) {
	var none T
	var damage error
	for t, err := range b.copies(ctx, ref.trashKeys()) {
		if err != nil {
			return none, err
		}
		found, err := find(ctx, t.Key)
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, ErrCorrupt):
			damage = err
		case !errors.Is(err, ErrNotFound):
			return none, err
		}
	}
	found, err := find(ctx, ref.Key())
	if errors.Is(err, ErrNotFound) && damage != nil {
		return none, damage
	}
	return found, err
}
