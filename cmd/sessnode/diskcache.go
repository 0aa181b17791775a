package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/config"
)

// openDisk returns the cache of the object store on the node's own disk, or nil
// where there is none: by choice, because blobs are in files here anyway, or
// because it cannot be kept, which is no reason for a node not to run.
func openDisk(cfg config.Config, logger *slog.Logger) *blobstore.Disk {
	if cfg.Blobs.Store != "s3" || cfg.Blobs.Disk == 0 {
		return nil
	}
	if keepsNothing(cfg) {
		logger.Info("a node that keeps nothing on its own disk caches no blobs there; to have that, make its data directory", "data", cfg.Data)
		return nil
	}
	d, err := blobstore.OpenDisk(filepath.Join(cfg.Data, "blob-cache"), int64(cfg.Blobs.Disk))
	if err != nil {
		logger.Error("this run caches no blobs on disk", "err", err)
		return nil
	}
	return d
}

// keepsNothing reports whether a node has no directory of its own, and makes none: it
// uses the log of others, and nobody has made it one.
func keepsNothing(cfg config.Config) bool {
	_, err := os.Stat(cfg.Data)
	return cfg.NATS.URL != "" && errors.Is(err, fs.ErrNotExist)
}
