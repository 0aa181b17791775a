package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WantFiles fails the test unless dir contains exactly the files of want, which
// maps names to contents.
func WantFiles(t testing.TB, dir string, want map[string]string) {
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

// TempDir is t.TempDir without symbolic links in its path, as agents see it.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	Must(t, err)
	return dir
}

// MakeFiles creates directories below root, and files for names of the form
// "path=content".
func MakeFiles(t testing.TB, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path, content, isFile := strings.Cut(name, "=")
		path = filepath.Join(root, path)
		if isFile {
			MakeFiles(t, filepath.Dir(path), ".")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// ReadFile returns the content of the file whose path elem makes.
func ReadFile(t testing.TB, elem ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	Must(t, err)
	return b
}

// WriteFile writes a file that only its owner can read.
func WriteFile(t testing.TB, path string, b []byte) {
	t.Helper()
	Must(t, os.WriteFile(path, b, 0o600))
}
