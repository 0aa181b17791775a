package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFilesAreLimited(t *testing.T) {
	t.Parallel()
	a := testApp(nil)
	a.MaxFile = 10
	path := filepath.Join(t.TempDir(), "f")
	_ = os.WriteFile(path, []byte("12345678901"), 0o600)
	if _, err := a.ReadBytes(t.Context(), path); Describe(err, "").Code != "too-large" {
		t.Errorf("a file: %v", err)
	}
	a.Stdin = strings.NewReader("12345678901")
	if _, err := a.ReadBytes(t.Context(), "-"); Describe(err, "").Code != "too-large" {
		t.Errorf("standard input: %v", err)
	}
}

// A read from a terminal ends with the context.
func TestReadingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	a := testApp(nil)
	r, w := io.Pipe()
	defer w.Close()
	a.Stdin = r
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := a.ReadBytes(ctx, "-"); err == nil {
		t.Error("no error")
	}
}
