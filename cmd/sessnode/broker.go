package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/internal/metrics"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// A broker is the NATS server of the node, embedded or external.
type broker struct {
	conn   *nats.Conn
	server *embedded.Server // nil if the server is external
	url    string           // for clients; "" if the server accepts none
}

func startBroker(ctx context.Context, cfg config.Config, logger *slog.Logger, start *starting) (*broker, error) {
	if cfg.NATS.URL != "" {
		return dialBroker(cfg, logger)
	}
	ec, err := embeddedConfig(cfg, logger)
	if err != nil {
		return nil, err
	}
	start.setStep(func() string { return "reading the streams in " + ec.Dir })
	server, err := embedded.Start(ctx, ec)
	if err != nil {
		return nil, err
	}
	conn, err := server.Connect()
	if err != nil {
		_ = server.Close()
		return nil, fmt.Errorf("connect to the embedded server: %w", err)
	}
	b := &broker{conn: conn, server: server, url: server.ClientURL()}
	start.setStep(b.behind)
	if err := b.joinCluster(ctx, cfg.Cluster, logger); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func embeddedConfig(cfg config.Config, logger *slog.Logger) (embedded.Config, error) {
	ec := embedded.Config{
		Dir: filepath.Join(cfg.Data, "nats"), Listen: cfg.NATS.Listen, Token: cfg.NATS.Token,
		SyncEvery: cfg.NATS.Sync.Interval(), GroupCommit: cfg.NATS.Sync == config.SyncGroup, MaxStore: int64(cfg.NATS.MaxStore), Logger: logger,
	}
	if cfg.NATS.Cert != "" {
		pair, err := keyPair(cfg.NATS.Cert, cfg.NATS.Key, logger)
		if err != nil {
			return ec, fmt.Errorf("nats: %w", err)
		}
		ec.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: serverCertificate(pair)}
	}
	if cfg.Cluster.Name != "" {
		ec.Name, ec.Volatile = cfg.Node, []string{stream.PresenceStream(cfg.Log.Name)}
		ec.Cluster = &embedded.Cluster{
			Name: cfg.Cluster.Name, Listen: cfg.Cluster.Listen, Routes: cfg.Cluster.Routes, Secret: cfg.Cluster.Secret,
		}
		var err error
		if ec.Cluster.TLS, err = clusterTLS(cfg.Cluster, logger); err != nil {
			return ec, fmt.Errorf("cluster: %w", err)
		}
	}
	return ec, nil
}

// behind returns what the node waits for in its cluster.
func (b *broker) behind() string {
	if err := b.server.Check(); err != nil {
		return "waiting for the cluster: " + err.Error()
	}
	if err := b.server.Behind(); err != nil {
		return "catching up with the cluster: " + err.Error()
	}
	return "joining the cluster"
}

// joinCluster waits until the cluster of the embedded server is ready, and this
// node has caught up. During a rolling restart, readiness is the signal to restart
// the next node, which may have the only other copy of a record.
func (b *broker) joinCluster(ctx context.Context, cfg config.Cluster, logger *slog.Logger) error {
	if !b.server.IsClustered() {
		return nil
	}
	logger.Info("waiting for the cluster", "routes", cfg.Routes)
	if err := b.server.Ready(ctx); err != nil {
		return fmt.Errorf("cluster %s: %w", cfg.Name, err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := b.server.CatchUp(ctx); errors.Is(err, embedded.ErrDamaged) {
		return fmt.Errorf("cluster %s: %w", cfg.Name, err)
	} else if err != nil {
		logger.Warn("this node serves, but has not caught up with the cluster: do not restart another node now", "err", err)
		return nil
	}
	logger.Info("this node has caught up with the cluster", "took", time.Since(began).Round(time.Millisecond))
	return nil
}

func dialBroker(cfg config.Config, logger *slog.Logger) (*broker, error) {
	opts := []nats.Option{
		nats.Name("sessnode " + cfg.Node),
		nats.CustomInboxPrefix(natsInbox(cfg.Log.Name, "node")),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // fail at once instead of sending after the caller has given up
		nats.SyncQueueLen(1024),   // messages per subscription; the default allocates half a megabyte
		nats.Timeout(5 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("NATS connection lost; reconnecting", "err", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { logger.Info("NATS connection restored", "server", c.ConnectedUrlRedacted()) }),
	}
	more, err := natsOptions(cfg.NATS, logger)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	conn, err := nats.Connect(cfg.NATS.URL, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", cfg.NATS.URL, err)
	}
	return &broker{conn: conn}, nil
}

func (b *broker) close() {
	b.conn.Close()
	if b.server != nil {
		_ = b.server.Close()
	}
}

// check returns why the broker cannot serve now, or nil.
func (b *broker) check(context.Context) error {
	if b.server != nil {
		return b.server.Check()
	}
	if !b.conn.IsConnected() {
		return fmt.Errorf("no connection to NATS: %s", b.conn.Status())
	}
	return nil
}

// durable returns what waits for the flush of an answer, or nil if answers are flushed.
func (b *broker) durable(cfg config.NATS) stream.Durable {
	if b.server == nil || cfg.Sync != config.SyncGroup {
		return nil
	}
	return b.server.Durable
}

// metrics returns what a scrape reads from the connection.
func (b *broker) metrics() metrics.Conn {
	return metrics.Conn{Up: b.conn.IsConnected, Reconnects: func() uint64 { return b.conn.Stats().Reconnects }}
}

// stats returns the statistics function of the embedded server, or nil.
func (b *broker) stats() func() embedded.Stats {
	if b.server == nil {
		return nil
	}
	return b.server.Stats
}
