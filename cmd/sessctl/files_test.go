package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// wantFiles checks that dir contains exactly these files, and no draft.
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

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
