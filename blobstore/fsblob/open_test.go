package fsblob_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestFilesAreReadableByOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	b := open(t, dir)
	if err := b.Put(t.Context(), "a/b/c", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v; want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestReopenKeepsObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := fsblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(t.Context(), "a/b", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if info, err := open(t, dir).Stat(t.Context(), "a/b"); err != nil || info.Size != 1 {
		t.Errorf("Stat = %+v, %v", info, err)
	}
}

func TestOpenSweepsOnlyWithExclusiveAccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := fsblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, ".tmp", "half")
	testkit.WriteFile(t, half, []byte("half of someth"))
	second := open(t, dir)
	if _, err := os.Stat(half); err != nil {
		t.Errorf("a file that may be in use was swept: %v", err)
	}
	if have := keys(t, second); len(have) > 0 {
		t.Errorf("List = %q; want nothing", have)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if _, err := os.Stat(half); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover was not swept: %v", err)
	}
}

func TestForeignFilesAreIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Mkdir(filepath.Join(dir, "lost+found"), 0),
		os.Mkdir(filepath.Join(dir, ".hidden"), 0o700),
		os.WriteFile(filepath.Join(dir, ".hidden", "a"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "no key"), nil, 0o600),
		os.Symlink(outside, filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if have := keys(t, b); len(have) > 0 {
		t.Errorf("List = %q; want nothing", have)
	}
	if r, err := b.Get(t.Context(), "link"); err == nil {
		r.Close()
		t.Error("Get followed a link out of the directory")
	}
}

func TestDirectoryGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	b := open(t, dir)
	if err := b.Put(t.Context(), "a/b", strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	// ErrNotFound would suggest that the object was deleted.
	_, err := b.Get(t.Context(), "a/b")
	wantUnavailable(t, err)
	_, err = b.Stat(t.Context(), "a/b")
	wantUnavailable(t, err)
	wantUnavailable(t, b.Put(t.Context(), "a/b", strings.NewReader("x"), 1))
	wantUnavailable(t, b.Delete(t.Context(), "a/b"))
	for _, err := range b.List(t.Context(), "") {
		wantUnavailable(t, err)
	}
}

func TestPutRecreatesRemovedDirectories(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, dir)
	for range 2 {
		if err := b.Put(t.Context(), "a/b/c", strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRejectsFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, file, nil)
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if _, err := fsblob.Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open(%q) = %v; want an error that names the directory", dir, err)
		}
	}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, blobstore.ErrUnavailable) || errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("%v is not only ErrUnavailable", err)
	}
}

func keys(t *testing.T, b *fsblob.Bucket) (keys []string) {
	t.Helper()
	for info, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}
