package storage

import (
	"context"
	"time"

	"github.com/sesslog/sesslog/core"
)

// Blobs keeps bytes under their digest: record bodies that are too large for a
// message, images, and files as they were imported.
type Blobs interface {
	// Put stores b. If it returns nil, b survives a crash of this host.
	Put(ctx context.Context, b []byte) (core.Digest, error)
	// Get returns the bytes with digest d and verifies them. Returns
	// ErrNotFound if the store has none, and ErrCorrupt if they are corrupt.
	Get(ctx context.Context, d core.Digest) ([]byte, error)
}

// GraceSpent reports whether a blob that was put at began may have been collected
// by now: half of the collector's grace has passed. A grace of 0 means that
// nothing collects blobs. Time is compared by the calendar, which also advances
// while a host sleeps.
func GraceSpent(now, began time.Time, grace time.Duration) bool {
	return grace > 0 && now.Round(0).Sub(began.Round(0)) > grace/2
}
