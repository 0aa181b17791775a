package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/access"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/metrics"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/tracing"
)

// serve runs a node until ctx ends.
func serve(ctx context.Context, cfg config.Config, out io.Writer, logger *slog.Logger) error {
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen (another node may run there; choose with --listen): %w", err)
	}
	defer ln.Close()
	warnOpen(cfg, logger)
	outside, err := secured(ln, cfg.TLS, logger)
	if err != nil {
		return err
	}

	broker, err := startBroker(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer broker.close()

	store, err := openStore(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer store.close()
	traces, err := tracing.Start(ctx, os.Getenv, tracing.Node{Name: cfg.Node, Version: version()})
	if err != nil {
		return err
	}
	defer traces.Close(logger)
	figures := metrics.New(version())
	bucket := figures.Bucket(store.bucket)
	grace := time.Duration(cfg.Blobs.Grace)
	disk := openDisk(cfg, logger)
	blobs := blobstore.NewCached(bucket, int64(cfg.Blobs.Cache)).WithDisk(disk).WithGrace(grace)
	snapshots := materializer.NewSnapshots(bucket).WithDisk(disk)

	log, err := openLog(ctx, cfg, broker, materializer.NewBlobs(blobs), traces.Tracer(), logger)
	if err != nil {
		return err
	}
	sessions := engine.NewSessions(engine.Config{
		Log: log, Blobs: materializer.NewBlobs(blobs), Snapshots: snapshots,
		Dialects: dialect.All(), Grace: grace, Host: cfg.Node, FlushEvery: flushOf(cfg), Logger: logger,
		Observer: figures.Stream(), Tracer: traces.Tracer(),
	})
	cache := materializer.NewCache(sessions, int64(cfg.Snapshots.Cache))
	js, err := jetstream.New(broker.conn)
	if err != nil {
		return err
	}
	replicas := replicasOf(cfg)
	directory, err := openDirectory(ctx, cfg, log.Name(), logger)
	if err != nil {
		return err
	}
	defer directory.close()
	opening, cancel := context.WithTimeout(ctx, startTime)
	audit, err := stream.OpenAudit(opening, js, log.Name(), replicas)
	cancel()
	if err != nil {
		return err
	}
	collector := gc.New(gc.Config{
		Log: log, Sessions: sessions, Bucket: bucket, Blobs: blobs, Node: cfg.Node, Record: recordIn(bucket, audit), Logger: logger,
	})
	presence := stream.NewPresence(js, log.Name(), replicas, session.Presence{
		ID: ulid.Make().String(), Agent: cfg.Node, Host: hostname(), Since: time.Now().UTC(),
	})
	// What is dropped from the log, mended or deleted must be in the object store: a
	// copy on this node's disk proves nothing.
	stored := sessions.From(materializer.NewSnapshots(bucket))
	mat := materializer.New(materializer.Config{
		Log: log, Sessions: stored, Cache: cache, Snapshots: snapshots, Directory: directory.index, Logger: logger,
		Checkpointed: figures.Checkpointed, Tracer: traces.Tracer(),
		Policy: materializer.Policy{MinTail: int64(cfg.Snapshots.MinTail), Idle: time.Duration(cfg.Snapshots.Idle)},
		Node:   cfg.Node, Crew: presence.Crew, Spread: spreadOf(replicas),
		Garbage: orNever(int64(cfg.Log.Garbage)), Grace: time.Duration(orNever(int64(cfg.Snapshots.Grace))),
	})
	remover := &removal.Remover{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory.index, Snapshots: snapshots,
		Window: time.Duration(cfg.Trash.Window),
	}
	doc := &doctor.Doctor{
		Log: log, Sessions: sessions, Materializer: mat, Directory: directory.index, Bucket: bucket, Blobs: blobs, Audit: audit, Presence: presence,
		Verifier: &verify.Verifier{
			Log: log, Sessions: stored, Cache: cache, Materializer: mat, Directory: directory.index, Snapshots: snapshots, Blobs: blobs,
		},
		Node: patient(cfg, broker, store),
	}
	uploads, err := openUploads(cfg, logger)
	if err != nil {
		return err
	}
	tokens := access.NewBook(js, log.Name(), replicas, logger)
	if cfg.Closed() { // a node that is ready has made all that others may not make
		if err := tokens.Make(ctx); err != nil {
			logger.Warn("the log's tokens cannot be asked for yet", "err", err)
		}
	}
	server := api.New(api.Config{
		Tokens: tokens, Uploads: uploads, Closed: cfg.Closed(), AnyHost: cfg.Open, NeedCertificate: cfg.TLS.ClientCA != "", Subjects: subjectsOf(cfg.TLS),
		Doctor: doc, Collector: collector,
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory.index,
		Snapshots: snapshots, Blobs: blobs, Presence: presence, Audit: audit, Remover: remover,
		Token: cfg.Token, Node: cfg.Node, Version: version(), BlobsAt: store.where, Store: store.look, StoreSeen: store.seen, Ready: broker.check,
		Access: cfg.Logging.Access, MaxBody: int64(cfg.Limits.Body), MaxLine: int(cfg.Limits.Line), Logger: logger,
		Metrics: figures.Handler(logger), Observe: figures.Request, Tracer: traces.Tracer(),
	})
	figures.Watch(metrics.Node{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory.index, Blobs: blobs, Server: server,
		Store: store.seen, Conn: broker.metrics(), Broker: broker.figures(),
	})

	fmt.Fprintf(out, "sessnode ready: %s://%s (data %s, log %s)\n", schemeOf(cfg), ln.Addr(), cfg.Data, log.Name())
	if broker.url != "" {
		fmt.Fprintf(out, "nats: %s\n", broker.url)
	}
	// The materializer outlives the API: what callers are promised is in the log
	// by then, and the directory saves its rows last.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	g, ctx := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(work) // who follows files gives its claims up first
	g.Go(func() error {
		defer stopWork()
		return server.Run(serving, outside)
	})
	g.Go(func() error {
		defer stopServing()
		return followFiles(ctx, cfg, server.Inside(), logger)
	})
	g.Go(func() error {
		defer func() { _ = presence.LeaveCrew(context.WithoutCancel(work)) }() // others find out in ten seconds
		return mat.Run(work)
	})
	g.Go(func() error { return presence.Run(work) })
	if cfg.Closed() { // else nobody is asked for one
		g.Go(func() error { return tokens.Run(work) })
	}
	g.Go(func() error { return emptyTrash(ctx, cfg, server, logger) })
	g.Go(func() error {
		return collectBlobs(ctx, time.Duration(cfg.Blobs.Collect), func() bool { return mat.Shards()[0].Mine }, server.CollectBlobs, logger)
	})
	g.Go(func() error { return store.run(work) })
	if disk != nil {
		g.Go(func() error { return disk.Run(work) })
	}
	if uploads != nil {
		g.Go(func() error { return uploads.Run(work) })
	}
	g.Go(func() error { return sign(work, collector, logger) })
	err = stopped(ctx, g.Wait())
	logger.Info("node stopped", "node", cfg.Node)
	return err
}

// patient is what a doctor cannot see by itself.
func patient(cfg config.Config, b *broker, s *store) doctor.Node {
	n := doctor.Node{Name: cfg.Node, Dir: cfg.Data, Ready: b.check, Store: s.look}
	if b.server != nil {
		sync := time.Duration(cfg.NATS.Sync)
		n.Sync = &sync
	}
	if b.server != nil || cfg.Blobs.Store == "fs" {
		n.Disk = func() (free, size int64, ok bool) { return embedded.Disk(cfg.Data) }
	}
	return n
}

// hostname is where this runs, for people to read; empty where it is not known.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// A broker is the NATS that the node uses: its own, or somebody else's.
type broker struct {
	conn   *nats.Conn
	server *embedded.Server // nil where the server is external
	url    string           // for clients, "" where there is none
}

func (b *broker) close() {
	b.conn.Close()
	if b.server != nil {
		_ = b.server.Close()
	}
}

// check says why the broker cannot serve now, or nil.
func (b *broker) check(context.Context) error {
	if b.server != nil {
		return b.server.Check()
	}
	if !b.conn.IsConnected() {
		return fmt.Errorf("no connection to NATS: %s", b.conn.Status())
	}
	return nil
}

func startBroker(ctx context.Context, cfg config.Config, logger *slog.Logger) (*broker, error) {
	if cfg.NATS.URL != "" {
		return dialBroker(cfg, logger)
	}
	ec := embedded.Config{
		Dir: filepath.Join(cfg.Data, "nats"), Listen: cfg.NATS.Listen, Token: cfg.NATS.Token,
		SyncEvery: time.Duration(cfg.NATS.Sync), MaxStore: int64(cfg.NATS.MaxStore), Logger: logger,
	}
	if cfg.NATS.Cert != "" {
		pair, err := keyPair(cfg.NATS.Cert, cfg.NATS.Key, logger)
		if err != nil {
			return nil, fmt.Errorf("nats: %w", err)
		}
		ec.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: shows(pair)}
	}
	if cfg.Cluster.Name != "" {
		ec.Name = cfg.Node
		ec.Cluster = &embedded.Cluster{
			Name: cfg.Cluster.Name, Listen: cfg.Cluster.Listen, Routes: cfg.Cluster.Routes, Secret: cfg.Cluster.Secret,
		}
		var err error
		if ec.Cluster.TLS, err = between(cfg.Cluster, logger); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
	}
	server, err := embedded.Start(ctx, ec)
	if err != nil {
		return nil, err
	}
	conn, err := server.Connect()
	if err != nil {
		_ = server.Close()
		return nil, fmt.Errorf("connect to the embedded server: %w", err)
	}
	if server.IsClustered() {
		logger.Info("waiting for the cluster", "routes", cfg.Cluster.Routes)
		if err := server.Ready(ctx); err != nil {
			conn.Close()
			_ = server.Close()
			return nil, fmt.Errorf("cluster %s: %w", cfg.Cluster.Name, err)
		}
		catchUp(ctx, server, logger)
	}
	return &broker{conn: conn, server: server, url: server.ClientURL()}, nil
}

// catchUp waits until a member that was away has what it missed. Whoever
// restarts one node after the other takes being ready for leave to go on with the
// next; were that the only other copy of something, the log would wait for it.
func catchUp(ctx context.Context, server *embedded.Server, logger *slog.Logger) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := server.CatchUp(ctx); err != nil {
		logger.Warn("this node serves, and does not have all yet that the others have: restart none of them now", "err", err)
		return
	}
	logger.Info("this node has what the others have", "took", time.Since(began).Round(time.Millisecond))
}

func dialBroker(cfg config.Config, logger *slog.Logger) (*broker, error) {
	opts := []nats.Option{
		nats.Name("sessnode " + cfg.Node),
		nats.CustomInboxPrefix(natsInbox(cfg.Log.Name, "node")),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what cannot be sent now is refused, not sent when nobody waits for it any more
		nats.SyncQueueLen(1024),   // a subscription has room for so many messages; the default takes half a megabyte
		nats.Timeout(5 * time.Second),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				logger.Warn("NATS connection lost; reconnecting", "err", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { logger.Info("NATS connection back", "server", c.ConnectedUrlRedacted()) }),
	}
	more, err := natsAccess(cfg.NATS, logger)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	opts = append(opts, more...)
	conn, err := nats.Connect(cfg.NATS.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", cfg.NATS.URL, err)
	}
	return &broker{conn: conn}, nil
}

// startTime is how long a node waits at its start for the streams to have
// leaders: a cluster that has just formed, or lost a node, needs a moment.
const startTime = 2 * time.Minute

// openLog opens the log.
func openLog(ctx context.Context, cfg config.Config, b *broker, blobs core.Blobs, tracer trace.Tracer, logger *slog.Logger) (*stream.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	lc := stream.LogConfig{
		Name: cfg.Log.Name, Shards: cfg.Log.Shards, Replicas: replicasOf(cfg), MaxBytes: int64(cfg.Log.MaxBytes), Blobs: blobs,
		Grace: time.Duration(cfg.Blobs.Grace),
		First: stream.FirstAt(time.Now()), Tracer: tracer,
	}
	if b.server != nil {
		lc.Room = b.server.Room
	}
	log, err := stream.OpenLog(ctx, b.conn, lc)
	if errors.Is(err, context.DeadlineExceeded) {
		logger.Error("the log's streams have no leader; are enough nodes of the cluster up?")
	}
	return log, err
}

func replicasOf(cfg config.Config) int {
	switch {
	case cfg.Log.Replicas != 0:
		return cfg.Log.Replicas
	case cfg.Cluster.Name != "":
		return 3
	}
	return 1
}

// spreadOf is how far nodes that share a log put off their checkpoints.
func spreadOf(replicas int) time.Duration {
	if replicas == 1 {
		return 0
	}
	return 2 * time.Second
}

// serverFlush is how often a NATS server flushes that nobody told otherwise.
const serverFlush = 2 * time.Minute

// flushOf is how often the log's server flushes what it acknowledged, 0 for at
// once.
func flushOf(cfg config.Config) time.Duration {
	if cfg.NATS.URL != "" {
		return cmp.Or(time.Duration(cfg.NATS.Sync), serverFlush)
	}
	return time.Duration(cfg.NATS.Sync)
}

// orNever is a setting of which 0 means never, for who means its default by that.
func orNever(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}
