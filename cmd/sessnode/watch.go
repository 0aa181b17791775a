package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sesslog/sesslog/agent"
	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/config"
)

// agentRoots in watch.roots means the session directories of all known agents.
const agentRoots = "agents"

// followFiles copies the session files of agents on this host into the log until
// ctx ends, if the configuration names any. node is this node.
func followFiles(ctx context.Context, cfg config.Config, node *client.Client, logger *slog.Logger) error {
	roots, err := watchRoots(cfg.Watch.Roots)
	if err != nil {
		return err
	}
	if len(roots) == 0 {
		<-ctx.Done()
		return nil
	}
	p, err := secretsOf(cfg)
	if err != nil {
		return err
	}
	f, err := follow.New(follow.Config{
		Secrets: p,
		Node:    node, Roots: roots, State: filepath.Join(cfg.Data, "watch"), By: "sessnode " + cfg.Node, Host: hostname(), Claims: true, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Run(ctx)
}

func secretsOf(cfg config.Config) (p secrets.Policy, err error) {
	if p.Mode, err = secrets.ParseMode(cfg.Watch.Secrets); err != nil || p.Mode == secrets.Off {
		return p, err
	}
	p.Rules, err = secrets.Read(filepath.Join(cfg.Data, "secrets.toml"))
	return p, err
}

func watchRoots(names config.List) ([]follow.Root, error) {
	dir, err := agent.Getwd()
	if err != nil {
		return nil, err
	}
	known := agent.Roots(os.Getenv, dir)
	var roots []follow.Root
	for _, name := range names {
		if name == agentRoots {
			roots = append(roots, known...)
			continue
		}
		roots = append(roots, agent.RootAt(known, name))
	}
	return roots, nil
}
