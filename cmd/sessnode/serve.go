package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/sesslog/sesslog/config"
)

// serve runs a node until ctx ends.
func serve(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error {
	spareProcessor()
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen (another node may run here; choose an address with --listen): %w", err)
	}
	defer ln.Close()
	warnExposed(cfg, logger)
	listener, err := withTLS(ln, cfg.TLS, logger)
	if err != nil {
		return err
	}
	start := &starting{}
	endStart := start.serve(ln, listener)
	defer endStart()
	stopLog := start.logWaits(logger)
	n, err := openNode(ctx, cfg, logger, start)
	stopLog()
	if err != nil {
		return err
	}
	defer n.close()
	endStart()

	fmt.Fprintf(out, "sessnode ready: %s://%s (data %s, log %s)\n", schemeOf(cfg), ln.Addr(), cfg.Data, n.log.Name())
	if n.broker.url != "" {
		fmt.Fprintf(out, "nats: %s\n", n.broker.url)
	}
	err = n.run(ctx, listener)
	logger.Info("node stopped", "node", cfg.Node)
	return err
}
