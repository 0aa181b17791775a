package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// blobs keeps bytes in memory. It is a stream.Blobs and, with the digest of
// the plain bytes for a key, a stream.Snapshots.
type blobs struct {
	mu  sync.Mutex
	all map[core.Digest][]byte
}

func newBlobs() *blobs { return &blobs{all: map[core.Digest][]byte{}} }

func (b *blobs) Put(_ context.Context, p []byte) (core.Digest, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := core.DigestOf(p)
	b.all[d] = bytes.Clone(p)
	return d, nil
}

func (b *blobs) Get(_ context.Context, d core.Digest) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.all[d]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", d, core.ErrNotFound)
	}
	return bytes.Clone(p), nil
}

// Load gives a snapshot that was put as a blob.
func (b *blobs) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	plain, err = b.Get(ctx, m.SHA256)
	return plain, func() error {
		if core.DigestOf(plain) != m.SHA256 {
			return fmt.Errorf("snapshot %s is damaged: %w", m.Object, core.ErrCorrupt)
		}
		return nil
	}, err
}

func (b *blobs) forget(d core.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, d)
}

// damage puts other bytes in the place of d's.
func (b *blobs) damage(d core.Digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[d] = []byte("damaged")
}
