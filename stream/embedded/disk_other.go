//go:build !linux

package embedded

// diskOf is not implemented on this platform.
func diskOf(string) (size int64, fault string) { return 0, "" }

// Disk always returns false on this platform.
func Disk(string) (free, size int64, ok bool) { return 0, 0, false }
