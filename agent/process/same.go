package process

import (
	"os"
	"path/filepath"
)

// SameDir reports whether two paths name one directory, also through links.
func SameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Running reports whether the process with that number is the one for which
// StartID returned start, and has not ended. If the platform cannot tell, any
// process with that number counts.
func Running(pid int, start string) bool {
	if !Alive(pid) || isZombie(pid) {
		return false
	}
	now := StartID(pid)
	return start == "" || now == "" || now == start
}
