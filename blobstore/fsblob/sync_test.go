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

// recorded returns a Bucket in a new directory and what it flushes, as paths
// within it; files being written are called "file".
func recorded(t *testing.T) (*Bucket, *[]string) {
	t.Helper()
	dir := t.TempDir()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	var flushed []string
	b.sync = func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, tmpDir) {
			name = "file"
		}
		flushed = append(flushed, name)
		return f.Sync()
	}
	return b, &flushed
}

func wantFlushed(t *testing.T, flushed *[]string, want ...string) {
	t.Helper()
	if !slices.Equal(*flushed, want) {
		t.Errorf("flushed %q; want %q", *flushed, want)
	}
	*flushed = nil
}

func TestFlushesAreThoseThatMakeItDurable(t *testing.T) {
	t.Parallel()
	b, flushed := recorded(t)
	put := func(key string) {
		t.Helper()
		if err := b.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	wantFlushed(t, flushed, "file", ".")
	put("d/e/f")
	wantFlushed(t, flushed, "file", ".", "d", "d/e")
	put("d/e/g")
	wantFlushed(t, flushed, "file", "d/e")
	put("d/h/i")
	wantFlushed(t, flushed, "file", "d", "d/h")

	if _, err := b.Stat(t.Context(), "d/e/f"); err != nil {
		t.Fatal(err)
	}
	wantFlushed(t, flushed, "d/e")
	for range 2 {
		if err := b.Delete(t.Context(), "d/e/f"); err != nil {
			t.Fatal(err)
		}
		wantFlushed(t, flushed, "d/e")
	}
}

// A directory that another process made may not be flushed yet.
func TestDirectoriesOfOthersAreFlushedOnce(t *testing.T) {
	t.Parallel()
	b, flushed := recorded(t)
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
	wantFlushed(t, flushed, ".", "d", "d/e")
	if err := b.Put(t.Context(), "d/e/ours", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	wantFlushed(t, flushed, "file", "d/e")
}

func TestFailedFlushIsNoPut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault error
		want  error
	}{
		{syscall.ENOSPC, blobstore.ErrUnavailable},
		{syscall.EIO, blobstore.ErrUnavailable},
		{syscall.EROFS, syscall.EROFS},
	} {
		// The flushes of a first Put: the file, two directories' parents, the
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
				t.Errorf("Put with flush %d failing = %v; want %v", nth, err, c.want)
			}
			// It is not acknowledged, so it may be there, but only whole.
			for info, err := range b.List(t.Context(), "") {
				if err != nil || info.Size != 5 {
					t.Errorf("List yields %+v, %v", info, err)
				}
			}
			if left, err := b.readDir(tmpDir); err != nil || len(left) > 0 {
				t.Errorf("%v is left in .tmp, %v", left, err)
			}
			if err := b.Put(t.Context(), "a/b/c", strings.NewReader("whole"), 5); err != nil {
				t.Errorf("Put again: %v", err)
			}
			if calls-1 == nth {
				t.Error("the second Put flushed nothing")
			}
		}
	}
}

func TestMemoryOfDirectoriesIsBounded(t *testing.T) {
	t.Parallel()
	b := &Bucket{}
	for i := range 2*maxDurable + 1 {
		b.setDurable(string(rune(i)))
	}
	if len(b.durable) > maxDurable {
		t.Errorf("%d directories are remembered", len(b.durable))
	}
}
