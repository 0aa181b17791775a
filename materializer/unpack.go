package materializer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/internal/memory"
)

// loadFactor is how many bytes a load takes for each of a snapshot: its plain bytes,
// and the object, which for incompressible lines is as large.
const loadFactor = 2

// Load implements engine.Snapshots. It checks an object that is byte-identical to
// the one stored before it returns. For other objects, and snapshots of several
// parts, the digest of the plain bytes is computed concurrently and may still be
// when Load returns.
func (s *Snapshots) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	if err := memory.Grow(ctx, loadFactor*m.Size); err != nil {
		return nil, nil, err
	}
	if len(m.Parts) == 0 {
		return s.load(ctx, m.Whole())
	}
	plain, err = s.compose(ctx, m)
	if err == nil {
		return plain, snapshot.DigestOf(plain, m), nil
	}
	if !isLost(err) {
		return nil, nil, err
	}
	if plain, checked, werr := s.load(ctx, m.Whole()); werr == nil {
		return plain, checked, nil
	}
	return nil, nil, err
}

// isLost reports whether an object is missing or corrupt, as opposed to a store
// that does not answer.
func isLost(err error) bool {
	return errors.Is(err, core.ErrNotFound) || errors.Is(err, core.ErrCorrupt)
}

// load returns the plain bytes of a part that is an object.
func (s *Snapshots) load(ctx context.Context, p core.Part) (plain []byte, checked func() error, err error) {
	if packed, ok := s.disk.Get(blobstore.Ref(p.Packed)); ok {
		if plain, err = snapshot.UnpackFrames(packed, p, nil); err == nil {
			return plain, verified, nil
		}
	}
	packed, err := s.packed(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	if !p.Packed.IsZero() && core.DigestOf(packed) == p.Packed {
		if plain, err = snapshot.UnpackFrames(packed, p, nil); err == nil {
			s.disk.Add(blobstore.Ref(p.Packed), packed)
			return plain, verified, nil
		}
	}
	return snapshot.UnpackUnverified(packed, p)
}

// verified is the check of bytes that are verified already.
func verified() error { return nil }

// Read returns the plain bytes of m's snapshot after comparing their digest.
func (s *Snapshots) Read(ctx context.Context, m *core.Manifest) ([]byte, error) {
	if len(m.Parts) == 0 {
		return s.read(ctx, m.Whole())
	}
	plain, err := s.composeVerified(ctx, m)
	if err == nil || !isLost(err) {
		return plain, err
	}
	if plain, werr := s.read(ctx, m.Whole()); werr == nil {
		return plain, nil
	}
	return nil, err
}

// read is Read for a part that is an object.
func (s *Snapshots) read(ctx context.Context, p core.Part) ([]byte, error) {
	packed, err := s.packed(ctx, p)
	if err != nil {
		return nil, err
	}
	return snapshot.UnpackVerified(packed, p)
}

// packed returns the object as it is stored.
func (s *Snapshots) packed(ctx context.Context, p core.Part) ([]byte, error) {
	r, err := s.bucket.Get(ctx, p.Object)
	if err != nil {
		return nil, BlobError(err)
	}
	defer r.Close()
	// Compression of incompressible bytes adds less than that.
	most := p.Size + p.Size/64 + 64<<10
	buf := bytes.NewBuffer(make([]byte, 0, 64<<10))
	n, err := io.Copy(buf, io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", p.Object, BlobError(err))
	}
	if p.Size < 0 || n > most {
		return nil, snapshot.Corrupt(p, snapshot.ErrDifferent)
	}
	return buf.Bytes(), nil
}
