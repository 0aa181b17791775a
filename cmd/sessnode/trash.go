package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/config"
)

// trashEvery is how often sessions are looked for whose time in the trash is
// over.
const trashEvery = time.Hour

// idle does nothing until ctx ends.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// emptyTrash erases sessions whose time in the trash is over, where the settings
// ask for it, until ctx ends.
func emptyTrash(ctx context.Context, cfg config.Config, server *api.Server, logger *slog.Logger) error {
	if !cfg.Trash.Erase {
		return idle(ctx)
	}
	t := time.NewTicker(trashEvery)
	defer t.Stop()
	for {
		n, err := server.EmptyTrash(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			logger.Warn("the trash could not be emptied; trying again in an hour", "err", err)
		case n > 0:
			logger.Info("sessions were erased, their time in the trash was over", "sessions", n)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
