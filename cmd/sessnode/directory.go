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

// A directory is the node's index and where it is kept.
type directory struct {
	index *index.Index
	temp  string // a place that goes with this run; empty where it stays
}

// openDirectory opens the index in the node's data directory. A node that uses an
// external NATS need not have one: then the index is temporary.
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
	logger.Info("a node that keeps nothing on its own disk reads the whole log at each start; to have it remember, make its data directory",
		"data", cfg.Data, "meanwhile", d.temp)
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

// close closes the index, and removes what goes with this run.
func (d *directory) close() {
	_ = d.index.Close()
	if d.temp != "" {
		_ = os.RemoveAll(d.temp)
	}
}
