package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// wantFiles fails unless dir holds exactly these files: no draft is left.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(dir, n.Name()))
		if w, ok := want[n.Name()]; err != nil || !ok || w != string(b) {
			t.Errorf("%s holds %q, %v, want %q", n.Name(), b, err, w)
		}
	}
	if len(names) != len(want) {
		t.Errorf("%d files, want %d", len(names), len(want))
	}
}

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := writeFile(path, false, text("one")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := writeFile(path, false, text("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	wantFiles(t, dir, map[string]string{"f": "one"})
	broken := errors.New("broken")
	err := writeFile(path, true, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("a write that breaks off: %v", err)
	}
	wantFiles(t, dir, map[string]string{"f": "one"})
	if err := writeFile(path, true, text("two")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"f": "two"})
	if err := writeFile(filepath.Join(dir, "none", "f"), true, text("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestWriteFileReplacesNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := writeFile(filepath.Join(dir, "link"), true, text("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "sub"), true, text("x")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a directory: %v", err)
	}
}

func TestMakeDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := makeDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeDir(filepath.Join(dir, "f")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file in the way: %v", err)
	}
}

func TestHoldsAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fresh, old string
		want       bool
	}{
		{"a\nb\nc\n", "a\nb\n", true},
		{"a\nb\nc\n", "c\n\nb\na", true},
		{"a\nb\n", "a\nb\nc\n", false},
		{"a\n", "", true},
		{"a\n", "a\r\n", false},
	} {
		if got := holdsAll([]byte(c.fresh), []byte(c.old)); got != c.want {
			t.Errorf("%q in place of %q: %v, want %v", c.fresh, c.old, got, c.want)
		}
	}
}
