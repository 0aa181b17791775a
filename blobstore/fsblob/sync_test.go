package fsblob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
)

// recorded returns a Bucket in a new directory and the paths that it syncs,
// relative to the directory; temporary files are called "file".
func recorded(t *testing.T) (*Bucket, *[]string) {
	t.Helper()
	dir := t.TempDir()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	var synced []string
	b.sync = func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, tmpDir) {
			name = "file"
		}
		synced = append(synced, name)
		return f.Sync()
	}
	return b, &synced
}

func wantSynced(t *testing.T, synced *[]string, want ...string) {
	t.Helper()
	if !slices.Equal(*synced, want) {
		t.Errorf("synced %q; want %q", *synced, want)
	}
	*synced = nil
}

func TestWritesSyncFilesAndDirectories(t *testing.T) {
	t.Parallel()
	b, synced := recorded(t)
	put := func(key string) {
		t.Helper()
		if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	wantSynced(t, synced, "file", ".")
	put("d/e/f")
	wantSynced(t, synced, "file", ".", "d", "d/e")
	put("d/e/g")
	wantSynced(t, synced, "file", "d/e")
	put("d/h/i")
	wantSynced(t, synced, "file", "d", "d/h")

	if _, err := b.Stat(t.Context(), "d/e/f"); err != nil {
		t.Fatal(err)
	}
	wantSynced(t, synced, "d/e")
	for range 2 {
		if err := b.Delete(t.Context(), "d/e/f"); err != nil {
			t.Fatal(err)
		}
		wantSynced(t, synced, "d/e")
	}
}

// A directory that another process created may not be synced yet.
func TestForeignDirectoriesAreSyncedOnce(t *testing.T) {
	t.Parallel()
	b, synced := recorded(t)
	for _, err := range []error{
		b.root.MkdirAll("d/e", dirMode),
		b.root.WriteFile("d/e/theirs", []byte("x"), fileMode),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Stat(t.Context(), "d/e/theirs"); err != nil {
		t.Fatal(err)
	}
	wantSynced(t, synced, ".", "d", "d/e")
	if err := b.Put(t.Context(), "d/e/ours", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	wantSynced(t, synced, "file", "d/e")
}

func TestPutFailsIfSyncFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault error
		want  error
	}{
		{syscall.ENOSPC, blobstore.ErrUnavailable},
		{syscall.EIO, blobstore.ErrUnavailable},
		{syscall.EROFS, syscall.EROFS},
	} {
		// The syncs of a first Put: the file, the parents of two directories, the
		// directory.
		for nth := range 4 {
			b, _ := recorded(t)
			calls := 0
			b.sync = func(f *os.File) error {
				calls++
				if calls-1 == nth {
					return &os.PathError{Op: "sync", Path: f.Name(), Err: c.fault}
				}
				return f.Sync()
			}
			err := b.Put(t.Context(), "a/b/c", strings.NewReader("whole"), 5)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "put a/b/c") {
				t.Errorf("Put with sync %d failing = %v; want %v", nth, err, c.want)
			}
			// The object was not acknowledged; it may exist, but only complete.
			for info, err := range b.List(t.Context(), "") {
				if err != nil || info.Size != 5 {
					t.Errorf("List yields %+v, %v", info, err)
				}
			}
			if left, err := b.readDir(tmpDir); err != nil || len(left) > 0 {
				t.Errorf("files left in .tmp: %v, %v", left, err)
			}
			if err := b.Put(t.Context(), "a/b/c", strings.NewReader("whole"), 5); err != nil {
				t.Errorf("second Put: %v", err)
			}
			if calls-1 == nth {
				t.Error("the second Put synced nothing")
			}
		}
	}
}

func TestDurableDirectoriesAreBounded(t *testing.T) {
	t.Parallel()
	b := &Bucket{}
	for i := range 2*maxDurable + 1 {
		b.setDurable(string(rune(i)))
	}
	if len(b.durable) > maxDurable {
		t.Errorf("%d directories are remembered", len(b.durable))
	}
}
