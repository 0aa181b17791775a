package faults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk is a file system of its own, so small that a test can fill it.
type disk struct{ dir string }

// newDisk puts a disk of so many MiB where dir is. Where none can be made the
// test is skipped.
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

// fill takes all the room that is left, but for so many bytes; the returned
// function gives it back.
func (d *disk) fill(t *testing.T, but int64) func() {
	t.Helper()
	path := filepath.Join(d.dir, "ballast")
	var st syscall.Statfs_t
	if err := syscall.Statfs(d.dir, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(st.Bavail)*st.Bsize - but
	b := make([]byte, max(0, size))
	// Whoever else writes may be faster.
	if err := os.WriteFile(path, b, 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}
