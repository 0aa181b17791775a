package core

import "context"

// Blobs keeps bytes under their digest: record bodies that are too large for a
// message, images, and files as they were imported.
type Blobs interface {
	// Put stores b. If it returns nil, b survives a crash of this host.
	Put(ctx context.Context, b []byte) (Digest, error)
	// Get returns the bytes with digest d and verifies them. Returns
	// ErrNotFound if the store has none, and ErrCorrupt if they are corrupt.
	Get(ctx context.Context, d Digest) ([]byte, error)
}
