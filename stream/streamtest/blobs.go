package streamtest

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// Blobs keeps bytes in memory. It is a storage.Blobs and, with the digest of the
// plain bytes as the key, an engine.Snapshots.
type Blobs struct {
	mu  sync.Mutex
	All map[core.Digest][]byte
}

// NewBlobs returns an empty store.
func NewBlobs() *Blobs { return &Blobs{All: map[core.Digest][]byte{}} }

// Put implements storage.Blobs.
func (b *Blobs) Put(_ context.Context, p []byte) (core.Digest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := core.DigestOf(p)
	b.All[d] = bytes.Clone(p)
	return d, nil
}

// Get implements storage.Blobs.
func (b *Blobs) Get(_ context.Context, d core.Digest) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.All[d]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", d, core.ErrNotFound)
	}
	return bytes.Clone(p), nil
}

// Load returns a snapshot that was put as a blob.
func (b *Blobs) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	plain, err = b.Get(ctx, m.SHA256)
	return plain, func() error {
		if core.DigestOf(plain) != m.SHA256 {
			return fmt.Errorf("snapshot %s is damaged: %w", m.Object, core.ErrCorrupt)
		}
		return nil
	}, err
}

// Forget removes the blob d.
func (b *Blobs) Forget(d core.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.All, d)
}

// Damage replaces the bytes of d.
func (b *Blobs) Damage(d core.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.All[d] = []byte("damaged")
}

// Clear removes all blobs.
func (b *Blobs) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.All)
}

// Count returns how many blobs there are.
func (b *Blobs) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.All)
}
