package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := Write(path, false, text("one")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := Write(path, false, text("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("existing file: %v", err)
	}
	testkit.WantFiles(t, dir, map[string]string{"f": "one"})
	broken := errors.New("broken")
	err := Write(path, true, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("failed write: %v", err)
	}
	testkit.WantFiles(t, dir, map[string]string{"f": "one"})
	if err := Write(path, true, text("two")); err != nil {
		t.Fatal(err)
	}
	testkit.WantFiles(t, dir, map[string]string{"f": "two"})
	if err := Write(filepath.Join(dir, "none", "f"), true, text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestWriteReplacesOnlyRegularFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := Write(filepath.Join(dir, "link"), true, text("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "sub"), true, text("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory: %v", err)
	}
}

func TestMkdirAll(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	testkit.WriteFile(t, filepath.Join(dir, "f"), nil)
	if err := MkdirAll(filepath.Join(dir, "f")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file in the way: %v", err)
	}
}
