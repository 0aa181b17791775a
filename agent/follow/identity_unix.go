//go:build unix

package follow

import (
	"io/fs"
	"syscall"
)

// identity is the file's device and number.
func identity(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}
