package main

import (
	"log/slog"
	"path/filepath"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/upload"
)

// openUploads is where files wait that come in parts, nil where the node takes
// none. Those that an earlier run of the node began go on.
func openUploads(cfg config.Config, logger *slog.Logger) (*upload.Store, error) {
	if cfg.Limits.Uploads == 0 {
		return nil, nil
	}
	if keepsNothing(cfg) {
		logger.Info("a node that keeps nothing on its own disk takes no files in parts; to have that, make its data directory", "data", cfg.Data)
		return nil, nil
	}
	return upload.Open(upload.Config{Dir: filepath.Join(cfg.Data, "uploads"), Bytes: int64(cfg.Limits.Uploads), Logger: logger})
}
