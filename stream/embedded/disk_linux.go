package embedded

import "golang.org/x/sys/unix"

// diskOf returns the size in bytes of the file system of dir, and why it is
// unsuitable for streams, or "".
func diskOf(dir string) (size int64, fault string) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, ""
	}
	size = int64(st.Blocks) * int64(st.Bsize)
	switch uint32(st.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return size, "is in memory: all streams are lost when the host restarts"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return size, "is a container layer: all streams are lost when the container is removed; mount a volume there"
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return size, "is a network share: two hosts may use it at once, and fsync may not reach its disk"
	}
	return size, ""
}

// Disk returns the bytes of the file system of dir that are free for this user, and
// its size. ok is false if they are unknown.
func Disk(dir string) (free, size int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), int64(st.Blocks) * int64(st.Bsize), true
}
