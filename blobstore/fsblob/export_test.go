package fsblob

import "os"

// SetSync replaces the function that syncs files, to crash during a sync.
func (b *Bucket) SetSync(f func(*os.File) error) { b.sync = f }
