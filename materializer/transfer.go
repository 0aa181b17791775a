package materializer

import (
	"context"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
)

// Object returns the object under key as it is stored, packed and unchecked, and
// its size. It returns core.ErrNotFound if there is none. The caller closes it.
func (s *Snapshots) Object(ctx context.Context, key string) (object io.ReadCloser, size int64, err error) {
	info, err := s.bucket.Stat(ctx, key)
	if err != nil {
		return nil, 0, BlobError(err)
	}
	object, err = s.bucket.Get(ctx, key)
	return object, info.Size, BlobError(err)
}

// Packed returns the snapshot of m as one object, as Save would store it. It
// returns core.ErrNotFound if there is none.
func (s *Snapshots) Packed(ctx context.Context, m *core.Manifest) ([]byte, error) {
	plain, err := s.Read(ctx, m)
	if err != nil {
		return nil, err
	}
	return snapshot.Pack(plain)
}

// Restore stores an object that a backup kept of m's snapshot, after unpacking and
// verifying it. An existing intact object stays. The object is durable when Restore
// returns nil.
func (s *Snapshots) Restore(ctx context.Context, m *core.Manifest, packed []byte) error {
	if _, err := snapshot.UnpackVerified(packed, m.Whole()); err != nil {
		return fmt.Errorf("the object is not the snapshot that the manifest names: %w", err)
	}
	if _, err := s.Read(ctx, m); err == nil {
		return nil
	}
	return s.put(ctx, m.Object, packed)
}
