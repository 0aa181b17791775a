//go:build unix

package follow

import (
	"io/fs"
	"syscall"
)

// identity returns the device and inode numbers of a file.
func identity(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}
