package blobstore

import "time"

// DefaultGrace is the grace period of Blobs unless WithGrace sets another.
const DefaultGrace = 24 * time.Hour

// WithGrace sets the grace period, which must be positive. It returns b, and must
// be called before b is used. All users of a Bucket must have the same grace
// period: after a Put, a client has half of it to reference the blob.
func (b *Blobs) WithGrace(grace time.Duration) *Blobs {
	b.grace = grace
	return b
}

// Grace returns the grace period.
func (b *Blobs) Grace() time.Duration { return b.grace }

// isFresh reports whether a blob last written at modified is protected for at
// least half the grace period. The other half allows for clock skew between this
// host and the backend.
func (b *Blobs) isFresh(modified time.Time) bool {
	return time.Since(modified) < b.grace/2
}
