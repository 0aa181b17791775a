package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/bridge"
	"github.com/sesslog/sesslog/config"
)

// agentRoots stands in watch.roots for where the agents known here keep their
// sessions.
const agentRoots = "agents"

// follow brings agents' session files of this host into the log until ctx ends,
// if the configuration names any. node is this one.
func follow(ctx context.Context, cfg config.Config, node *api.Client, logger *slog.Logger) error {
	roots, err := watchRoots(cfg.Watch.Roots)
	if err != nil {
		return err
	}
	if len(roots) == 0 {
		<-ctx.Done()
		return nil
	}
	b, err := bridge.New(bridge.Config{
		Node: node, Roots: roots, State: filepath.Join(cfg.Data, "watch"), By: "sessnode " + cfg.Node, Host: hostname(), Claims: true, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Run(ctx)
}

func watchRoots(names config.List) ([]bridge.Root, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	known := bridge.AgentRoots(os.Getenv, dir)
	var roots []bridge.Root
	for _, name := range names {
		if name == agentRoots {
			roots = append(roots, known...)
			continue
		}
		root := bridge.Root{Path: name}
		if i := slices.IndexFunc(known, func(r bridge.Root) bool { return r.Path == filepath.Clean(name) }); i >= 0 {
			root = known[i]
		}
		roots = append(roots, root)
	}
	return roots, nil
}
