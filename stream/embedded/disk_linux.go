package embedded

import "golang.org/x/sys/unix"

// diskOf tells the size in bytes of the file system that holds dir, and why it
// is no place for streams, or "".
func diskOf(dir string) (size int64, doubt string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, ""
	}
	size = int64(st.Blocks) * int64(st.Bsize)
	switch uint32(st.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return size, "is kept in memory: every stream is lost when the host restarts"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return size, "is a container's own layer: every stream is lost when the container is removed; mount a volume there"
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return size, "is a network share: two hosts may run on it at once, and fsync may not reach its disk"
	}
	return size, ""
}

// Disk tells how many bytes of the file system that holds dir are free for this
// user, and its size; not ok where that cannot be told.
func Disk(dir string) (free, size int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), true
}
