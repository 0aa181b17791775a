package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/prompts"
	"github.com/sesslog/sesslog/stream"
)

// A history is the node's prompt history, or nothing where it cannot be kept:
// that is no reason for a node not to run.
type history struct {
	note   func(stream.Change)
	search func(context.Context, materializer.PromptQuery) (materializer.PromptPage, error)
	run    func(context.Context) error
	drop   func(context.Context) error // has it made anew; nil where there is none
}

func openHistory(ctx context.Context, cfg config.Config, log string, cache *materializer.Cache, logger *slog.Logger) history {
	if keepsNothing(cfg) {
		logger.Info("a node that keeps nothing on its own disk keeps no prompt history; to have one, make its data directory", "data", cfg.Data)
		return history{run: idle}
	}
	h, err := prompts.Open(ctx, prompts.Config{
		Path: filepath.Join(cfg.Data, "prompts.db"), Log: log, Session: cache.Get, Logger: logger,
	})
	if err != nil {
		logger.Error("this run keeps no prompt history", "err", err)
		return history{run: idle}
	}
	return history{note: h.Note, search: h.Search, drop: h.Rebuild, run: func(ctx context.Context) error {
		defer h.Close()
		return h.Run(ctx)
	}}
}

// idle does nothing until ctx ends.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
