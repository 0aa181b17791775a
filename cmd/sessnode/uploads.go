package main

import (
	"log/slog"
	"path/filepath"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/upload"
)

// openUploads opens the store of resumable uploads, or returns nil if the node
// accepts none.
func openUploads(cfg config.Config, logger *slog.Logger) (*upload.Store, error) {
	if cfg.Limits.Uploads == 0 {
		return nil, nil
	}
	if diskless(cfg) {
		logger.Info("the data directory does not exist, so the node accepts no resumable uploads; create it to enable them", "data", cfg.Data)
		return nil, nil
	}
	return upload.Open(upload.Config{Dir: filepath.Join(cfg.Data, "uploads"), Bytes: int64(cfg.Limits.Uploads), Logger: logger})
}
