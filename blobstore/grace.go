package blobstore

import "time"

// DefaultGrace is the grace of Blobs that were given none.
const DefaultGrace = 24 * time.Hour

// WithGrace sets the grace, above 0. It returns b, and is called before b is
// used. All who use the same Bucket have the same grace, and no sweep of it has a
// shorter one: who puts a blob has half of that to name it.
func (b *Blobs) WithGrace(grace time.Duration) *Blobs {
	b.grace = grace
	return b
}

// Grace returns the grace.
func (b *Blobs) Grace() time.Duration { return b.grace }

// young reports whether a blob that was written then is left alone long enough
// for whoever names it now. It is the backend's time against this host's, and
// half the grace is room for both to differ.
func (b *Blobs) young(modified time.Time) bool {
	return time.Since(modified) < b.grace/2
}
