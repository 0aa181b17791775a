//go:build !linux

package process

// Find always returns ok false on this platform.
func Find(string, []string, map[int]bool) (pid int, ok bool) { return 0, false }

// WriterOf always returns 0 on this platform.
func WriterOf(string) int { return 0 }

// OpenJSON always returns nil on this platform.
func OpenJSON(int) []string { return nil }

// Dirs always returns nil on this platform.
func Dirs(int) []string { return nil }

// StartID is always empty on this platform.
func StartID(int) string { return "" }

func isZombie(int) bool { return false }
