package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk is a separate file system that is small enough for a test to fill.
type disk struct{ dir string }

// newDisk mounts a disk of size MiB at dir. It skips the test if it cannot.
func newDisk(t *testing.T, dir string, mib int) *disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d := &disk{dir: dir}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("no disk of its own: mounting a tmpfs: %v (it needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill uses all free space except for some bytes. The returned function frees it.
func (d *disk) fill(t *testing.T, but int64) func() {
	t.Helper()
	path := filepath.Join(d.dir, "ballast")
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(st.Bavail)*st.Bsize - but
	b := make([]byte, max(0, size))
	// Another process may write at the same time.
	if err := os.WriteFile(path, b, 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
