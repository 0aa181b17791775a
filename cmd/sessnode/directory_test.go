package main

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
)

func TestPromptsFileOfEarlierVersionIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"prompts.db", "prompts.db-wal", "prompts.db-shm", "index.db"} {
		testkit.WriteFile(t, filepath.Join(dir, name), []byte("x"))
	}
	removePromptsFile(dir, slog.New(slog.DiscardHandler))
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "index.db" {
		t.Errorf("left: %q, %v", left, err)
	}
}
