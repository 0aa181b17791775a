package materializer

import (
	"context"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/core"
)

// Object returns the object under key as it is stored, packed and unchecked,
// and its size. core.ErrNotFound when it is gone. The caller closes it.
func (s *Snapshots) Object(ctx context.Context, key string) (object io.ReadCloser, size int64, err error) {
	info, err := s.bucket.Stat(ctx, key)
	if err != nil {
		return nil, 0, BlobError(err)
	}
	object, err = s.bucket.Get(ctx, key)
	return object, info.Size, BlobError(err)
}

// Packed returns the snapshot of m as one object, as Save would store it.
// core.ErrNotFound when it is gone.
func (s *Snapshots) Packed(ctx context.Context, m *core.Manifest) ([]byte, error) {
	plain, err := s.Read(ctx, m)
	if err != nil {
		return nil, err
	}
	return packSnapshot(plain)
}

// PackedFrom is Snapshots.Packed of a snapshot of several parts for one who has the
// store at second hand: object returns an object of those that m names as it is
// stored. Its errors are passed on. core.ErrCorrupt where they are not what m names.
func PackedFrom(ctx context.Context, m *core.Manifest, object func(ctx context.Context, key string) ([]byte, error)) ([]byte, error) {
	plain, err := composeProved(ctx, m, func(ctx context.Context, p core.Part) ([]byte, error) {
		packed, err := object(ctx, p.Object)
		if err != nil {
			return nil, err
		}
		return unpackProved(packed, p)
	})
	if err != nil {
		return nil, err
	}
	return packSnapshot(plain)
}

// Restore stores an object that somebody kept of the snapshot that m names, once
// it was unpacked and found to be that. Where an object is there that is sound,
// it is left alone. Otherwise it is durable when Restore returns nil.
func (s *Snapshots) Restore(ctx context.Context, m *core.Manifest, packed []byte) error {
	if _, err := unpackProved(packed, m.Whole()); err != nil {
		return fmt.Errorf("the object that is to be put there is something else: %w", err)
	}
	if _, err := s.Read(ctx, m); err == nil {
		return nil
	}
	return s.put(ctx, m.Object, packed)
}
