package main

import (
	"context"
	"log/slog"
	"time"
)

// trashInterval is the time between two checks of the trash.
const trashInterval = time.Hour

// emptyTrash erases the sessions whose time in the trash has expired, until ctx
// ends.
func emptyTrash(ctx context.Context, empty func(context.Context) (int, error), logger *slog.Logger) error {
	t := time.NewTicker(trashInterval)
	defer t.Stop()
	for {
		n, err := empty(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			logger.Warn("the trash could not be emptied; retrying in an hour", "err", err)
		case n > 0:
			logger.Info("erased sessions whose time in the trash expired", "sessions", n)
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
