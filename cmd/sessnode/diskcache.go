package main

import (
	"log/slog"
	"path/filepath"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/config"
)

// openDisk returns the disk cache of the object store. It returns nil if it is
// disabled, useless because blobs are local files, or cannot be opened.
func openDisk(cfg config.Config, logger *slog.Logger) *blobstore.Disk {
	if cfg.Blobs.Store != "s3" || cfg.Blobs.Disk == 0 {
		return nil
	}
	if diskless(cfg) {
		logger.Info("the data directory does not exist, so the node has no disk cache of blobs; create it to enable the cache", "data", cfg.Data)
		return nil
	}
	d, err := blobstore.OpenDisk(filepath.Join(cfg.Data, "blob-cache"), int64(cfg.Blobs.Disk))
	if err != nil {
		logger.Error("the disk cache of blobs is disabled", "err", err)
		return nil
	}
	return d
}
