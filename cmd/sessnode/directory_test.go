package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestPromptsFileOfEarlierVersionIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"prompts.db", "prompts.db-wal", "prompts.db-shm", "index.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	removePromptsFile(dir, slog.New(slog.DiscardHandler))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "index.db" {
		t.Errorf("left: %q, %v", left, err)
	}
}
