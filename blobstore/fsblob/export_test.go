package fsblob

import "os"

// SetSync has b flush by f, for a test that dies at one of the flushes.
func (b *Bucket) SetSync(f func(*os.File) error) { b.sync = f }
