package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/materializer/index"
)

// A directory is the node's index and its location.
type directory struct {
	index *index.Index
	temp  string // a temporary directory with the index; "" if it is permanent
}

// openDirectory opens the index in the node's data directory. If the node is
// diskless, the index is temporary.
func openDirectory(ctx context.Context, cfg config.Config, log string, logger *slog.Logger) (*directory, error) {
	d := &directory{}
	open := func(dir string) (err error) {
		d.index, err = index.Open(ctx, index.Config{Path: filepath.Join(dir, "index.db"), Log: log, Logger: logger})
		return err
	}
	removePromptsFile(cfg.Data, logger)
	err := open(cfg.Data)
	if cfg.NATS.URL == "" || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if d.temp, err = os.MkdirTemp("", "sessnode-"); err != nil {
		return nil, err
	}
	logger.Info("the data directory does not exist, so the node reads the whole log at every start; create it to keep the index",
		"data", cfg.Data, "temporary", d.temp)
	if err := open(d.temp); err != nil {
		_ = os.RemoveAll(d.temp)
		return nil, err
	}
	return d, nil
}

// removePromptsFile removes the file in which earlier versions kept prompts. They are
// in the index now, which is rebuilt from the log.
func removePromptsFile(dir string, logger *slog.Logger) {
	path := filepath.Join(dir, "prompts.db")
	if _, err := os.Stat(path); err != nil {
		return
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			logger.Warn("the prompts file of an earlier version cannot be removed: delete it by hand", "file", path, "err", err)
			return
		}
	}
	logger.Info("removed the prompts file of an earlier version; prompts are in the directory now", "file", path)
}

// close closes the index, and removes it if it is temporary.
func (d *directory) close() {
	_ = d.index.Close()
	if d.temp != "" {
		_ = os.RemoveAll(d.temp)
	}
}
