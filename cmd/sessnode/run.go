package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"golang.org/x/sync/errgroup"
)

// run serves until ctx ends or a part of the node fails. The parts stop in this
// order: the followers of files, which release their claims through the API; the
// API; and then its services, of which the materializer saves the directory.
func (n *node) run(ctx context.Context, listener net.Listener) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	serving, stopServing := context.WithCancel(work)
	defer stopServing()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer stopServing()
		return followFiles(ctx, n.cfg, &client.Client{Base: "http://localhost", HTTP: n.server.InProcessClient()}, n.logger)
	})
	g.Go(func() error {
		defer stopWork()
		return n.server.Run(serving, listener)
	})
	for _, part := range []func(context.Context) error{n.emptyTrash, n.collectBlobs} {
		g.Go(func() error { return part(ctx) })
	}
	for _, part := range n.services() {
		g.Go(func() error { return part(work) })
	}
	return ignoreStop(ctx, g.Wait())
}

// services returns the parts that stop after the API.
func (n *node) services() []func(context.Context) error {
	parts := []func(context.Context) error{n.runMaterializer, n.presence.Run, n.store.run, n.signBucket}
	if n.cfg.Closed() { // otherwise no token is needed
		parts = append(parts, n.tokens.Run)
	}
	if n.notifier != nil {
		parts = append(parts, n.notifier.Run)
	}
	if n.disk != nil {
		parts = append(parts, n.disk.Run)
	}
	return parts
}

func (n *node) runMaterializer(ctx context.Context) error {
	// If this fails, other nodes notice within ten seconds.
	defer func() { _ = n.presence.LeaveMembers(context.WithoutCancel(ctx)) }()
	return n.materializer.Run(ctx)
}

func (n *node) emptyTrash(ctx context.Context) error {
	if !n.cfg.Trash.Erase {
		return idle(ctx)
	}
	return emptyTrash(ctx, n.server.EmptyTrash, n.logger)
}

func (n *node) collectBlobs(ctx context.Context) error {
	first := func() bool { return n.materializer.Shards()[0].Mine } // one node collects
	return collectBlobs(ctx, time.Duration(n.cfg.Blobs.Collect), first, n.server.CollectBlobs, n.logger)
}

func (n *node) signBucket(ctx context.Context) error { return signBucket(ctx, n.collector, n.logger) }

// idle waits until ctx ends.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// ignoreStop returns nil if err is the result of ctx being canceled.
func ignoreStop(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
