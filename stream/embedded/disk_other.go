//go:build !linux

package embedded

// diskOf knows nothing here.
func diskOf(string) (size int64, doubt string) { return 0, "" }

// Disk knows nothing here.
func Disk(string) (free, size int64, ok bool) { return 0, 0, false }
