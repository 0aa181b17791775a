package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/api/durablestreams"
	"github.com/sesslog/sesslog/api/mcpserver"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/config"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/usage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/internal/metrics"
	"github.com/sesslog/sesslog/internal/tracing"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/materializer/notify"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
	"github.com/sesslog/sesslog/web"
)

// startTimeout is how long a node waits at its start for the streams to have
// leaders. A cluster that has just formed, or lost a node, needs a moment.
const startTimeout = 2 * time.Minute

// closeTimeout is how long a node waits at its end for queued appends.
const closeTimeout = 5 * time.Second

// A node is everything that serves a log in this process. openNode fills it in the
// order of the fields; run serves until its context ends.
type node struct {
	cfg     config.Config
	logger  *slog.Logger
	metrics *metrics.Metrics
	start   *starting
	tracer  trace.Tracer

	broker *broker
	js     jetstream.JetStream

	store     *store
	bucket    blobstore.Bucket // that of store, with metrics
	disk      *blobstore.Disk  // nil if there is no cache on disk
	blobs     *blobstore.Blobs
	snapshots *materializer.Snapshots

	log      *stream.Log
	sessions *engine.Sessions
	durable  *engine.Sessions // sessions without the caches of snapshots
	memory   *memory.Budget   // of what callers can have the node hold
	cache    *materializer.Cache
	guard    *materializer.Guard

	directory    *directory
	audit        *stream.Audit
	presence     *stream.Presence
	materializer *materializer.Materializer
	notifier     *notify.Notifier // nil if there are no webhooks

	collector *gc.Collector
	tokens    *tokenstore.Store
	server    *server.Server

	closers []func()
}

// openNode opens a node, and tells start which step it is at. The caller must close it.
func openNode(ctx context.Context, cfg config.Config, logger *slog.Logger, start *starting) (*node, error) {
	n := &node{cfg: cfg, logger: logger, metrics: metrics.New(version()), start: start}
	for _, open := range []func(context.Context) error{
		n.openBroker, n.openStore, n.openTracing, n.openLog, n.openDirectory, n.openAudit, n.openMaterializer, n.openServer,
	} {
		if err := open(ctx); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// onClose adds a step of close, which runs them in reverse order.
func (n *node) onClose(f func()) { n.closers = append(n.closers, f) }

func (n *node) close() {
	for _, f := range slices.Backward(n.closers) {
		f()
	}
}

func (n *node) openBroker(ctx context.Context) (err error) {
	if n.broker, err = startBroker(ctx, n.cfg, n.logger, n.start); err != nil {
		return err
	}
	n.onClose(n.broker.close)
	n.start.setStep(func() string {
		if err := n.broker.check(ctx); err != nil {
			return err.Error()
		}
		return "opening the log's streams, which need a leader"
	})
	n.js, err = jetstream.New(n.broker.conn)
	return err
}

func (n *node) openStore(ctx context.Context) (err error) {
	if n.store, err = openStore(ctx, n.cfg, n.logger); err != nil {
		return err
	}
	n.onClose(n.store.close)
	n.bucket = n.metrics.Bucket(n.store.bucket)
	n.disk = openDisk(n.cfg, n.logger)
	n.blobs = blobstore.NewCached(n.bucket, int64(n.cfg.Blobs.Cache)).WithDisk(n.disk).WithGrace(time.Duration(n.cfg.Blobs.Grace))
	n.snapshots = materializer.NewSnapshots(n.bucket).WithDisk(n.disk)
	return nil
}

func (n *node) openTracing(ctx context.Context) error {
	sender, err := tracing.Start(ctx, os.Getenv, tracing.Node{Name: n.cfg.Node, Version: version()})
	if err != nil {
		return err
	}
	n.onClose(func() { sender.Close(n.logger) })
	n.tracer = sender.Tracer()
	return nil
}

func (n *node) openLog(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	blobs, grace := materializer.NewBlobs(n.blobs), time.Duration(n.cfg.Blobs.Grace)
	lc := stream.LogConfig{
		Name: n.cfg.Log.Name, Shards: n.cfg.Log.Shards, Replicas: replicasOf(n.cfg), MaxBytes: int64(n.cfg.Log.MaxBytes),
		Blobs: blobs, Grace: grace, First: stream.FirstPos(time.Now()), Tracer: n.tracer,
	}
	if n.broker.server != nil {
		lc.Capacity = n.broker.server.Capacity
	}
	lc.Durable = n.broker.durable(n.cfg.NATS)
	log, err := stream.OpenLog(ctx, n.broker.conn, lc)
	if errors.Is(err, context.DeadlineExceeded) {
		n.logger.Error("the log's streams have no leader; check that enough nodes of the cluster are up")
	}
	if err != nil {
		return err
	}
	n.log = log
	n.guard = materializer.NewGuard(log, materializer.NewSnapshots(n.bucket), n.logger)
	n.sessions = engine.NewSessions(engine.Config{
		Log: log, Blobs: blobs, Snapshots: n.snapshots, Dialects: dialect.All(), Grace: grace,
		Host: n.cfg.Node, FlushEvery: flushInterval(n.cfg), SoleWriter: lc.Durable != nil,
		Witness: n.guard, Logger: n.logger, Observer: n.metrics.Stream(), Tracer: n.tracer,
	})
	n.onClose(n.closeSessions)
	// Truncation, repair and deletion rely on snapshots in the object store, not on
	// copies on this node's disk.
	n.durable = n.sessions.WithSnapshots(materializer.NewSnapshots(n.bucket))
	n.memory = memoryBudget(n.cfg)
	_, bytes, _ := n.memory.Stats()
	n.cache = materializer.NewCache(n.sessions, min(int64(n.cfg.Snapshots.Cache), bytes/2)).WithMemory(n.memory)
	return nil
}

// closeSessions waits a few seconds for appends that are queued.
func (n *node) closeSessions() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	n.sessions.Close(ctx)
}

func (n *node) openDirectory(ctx context.Context) (err error) {
	if n.directory, err = openDirectory(ctx, n.cfg, n.log.Name(), n.logger); err == nil {
		n.onClose(n.directory.close)
	}
	return err
}

func (n *node) openAudit(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if n.audit, err = stream.OpenAudit(ctx, n.js, n.log.Name(), replicasOf(n.cfg)); err == nil {
		n.audit.FlushWith(n.broker.durable(n.cfg.NATS))
	}
	return err
}

func (n *node) openMaterializer(context.Context) error {
	replicas := replicasOf(n.cfg)
	n.presence = stream.NewPresence(n.js, n.log.Name(), replicas, session.Presence{
		ID: ulid.Make().String(), Agent: n.cfg.Node, Host: hostname(), Since: time.Now().UTC(),
	})
	mc := materializer.Config{
		Log: n.log, Sessions: n.durable, Cache: n.cache, Snapshots: n.snapshots, Directory: n.directory.index, Guard: n.guard, Logger: n.logger,
		Checkpointed: n.metrics.Checkpointed, Tracer: n.tracer,
		Policy: materializer.Policy{MinTail: int64(n.cfg.Snapshots.MinTail), Idle: time.Duration(n.cfg.Snapshots.Idle)},
		Node:   n.cfg.Node, Members: n.presence.Members, Spread: checkpointSpread(replicas),
		Garbage: zeroIsNever(int64(n.cfg.Log.Garbage)), Grace: time.Duration(zeroIsNever(int64(n.cfg.Snapshots.Grace))),
	}
	if len(n.cfg.Notices.URLs) > 0 {
		key, err := n.cfg.Notices.Key()
		if err != nil {
			return fmt.Errorf("notices.secret: %w", err)
		}
		n.notifier = notify.New(notify.Config{
			JetStream: n.js, Log: n.log.Name(), Replicas: replicas, URLs: n.cfg.Notices.URLs, Key: key, Row: n.directory.index.Row, Logger: n.logger,
		})
		mc.Changed = n.notifier.Changed
	}
	n.materializer = materializer.New(mc)
	return nil
}

func (n *node) openServer(ctx context.Context) (err error) {
	n.collector = gc.New(gc.Config{
		Log: n.log, Sessions: n.sessions, Bucket: n.bucket, Blobs: n.blobs, Node: n.cfg.Node,
		Record: recordDeletions(n.bucket, n.audit), Hold: n.guard.Hold, Logger: n.logger,
	})
	n.tokens = tokenstore.New(n.js, n.log.Name(), replicasOf(n.cfg), n.logger)
	n.tokens.FlushWith(n.broker.durable(n.cfg.NATS))
	if err := n.initTokens(ctx); err != nil {
		n.logger.Warn("the log's tokens cannot be read yet", "err", err)
	}
	api := n.apiConfig()
	if api.Prices, err = pricesIn(n.cfg.Prices); err != nil {
		return err
	}
	n.server = server.New(api)
	n.metrics.Watch(metrics.Node{
		Log: n.log, Sessions: n.sessions, Cache: n.cache, Materializer: n.materializer, Directory: n.directory.index,
		Blobs: n.blobs, Server: n.server, Store: n.store.lastError, Conn: n.broker.metrics(), Broker: n.broker.stats(),
	})
	return nil
}

// initTokens creates the log's bucket of tokens. On an external NATS, only the first node
// may have the permission for it, and later nodes need the bucket as soon as there is a
// token. A node that does not require tokens waits for at most five seconds.
func (n *node) initTokens(ctx context.Context) error {
	if n.cfg.Closed() {
		return n.tokens.Init(ctx)
	}
	if n.broker.server != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = n.tokens.Init(ctx) // it is not needed yet
	return nil
}

// pricesIn returns the listed prices, and those in the file called name, if it is
// not empty.
func pricesIn(name string) (usage.Prices, error) {
	if name == "" {
		return usage.Listed(), nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return usage.Prices{}, fmt.Errorf("prices: %w", err)
	}
	own, err := usage.ReadPrices(data)
	if err != nil {
		return usage.Prices{}, fmt.Errorf("prices: %s: %w", name, err)
	}
	return usage.Listed().With(own), nil
}

func (n *node) apiConfig() server.Config {
	return server.Config{
		Page: n.page(),
		Log:  n.log, Sessions: n.sessions, Cache: n.cache, Materializer: n.materializer, Directory: n.directory.index,
		Snapshots: n.snapshots, Blobs: n.blobs, Presence: n.presence, Audit: n.audit,
		Doctor: n.doctor(), Collector: n.collector, Remover: n.remover(),

		Token: n.cfg.Token, Tokens: n.tokens, Closed: n.cfg.Closed(), AnyHost: n.cfg.Open,
		NeedCertificate: n.cfg.TLS.ClientCA != "", Subjects: subjectsOf(n.cfg.TLS),

		Node: n.cfg.Node, Version: version(), BlobsAt: n.store.where,
		Ready: n.broker.check, Store: n.store.check, StoreSeen: n.store.lastError,
		StreamPoll: n.streamPoll(), StreamWebhooks: durablestreams.Webhooks(n.cfg.Streams.Webhooks), StreamSecret: n.streamSecret(),
		Metrics: n.metrics.Handler(n.logger), Observe: n.metrics.Request, Tracer: n.tracer,
		Memory: n.memory, MaxBody: int64(n.cfg.Limits.Body), MaxLine: int(n.cfg.Limits.Line), Access: n.cfg.Logging.Access, Logger: n.logger,
	}
}

// streamPoll is how long a long-poll of the durable-streams protocol waits, 0 if the node
// does not serve it.
func (n *node) streamPoll() time.Duration {
	if !n.cfg.Streams.Serve {
		return 0
	}
	return time.Duration(n.cfg.Streams.Poll)
}

// streamSecret is what the key of the streams' webhooks is made of, nil for a random one.
func (n *node) streamSecret() []byte {
	key, err := n.cfg.Notices.Key()
	if err != nil {
		return nil
	}
	return key
}

// page returns the handler of the web page and of MCP around that of the API.
func (n *node) page() func(http.Handler) http.Handler {
	return func(api http.Handler) http.Handler {
		h := api
		if n.cfg.MCP {
			h = mcpserver.Handler(h, version(), n.memory)
		}
		if n.cfg.Web {
			h = web.New(filepath.Join(n.cfg.Data, "secrets.toml"), n.memory)(h)
		}
		return h
	}
}

func (n *node) remover() *removal.Remover {
	return &removal.Remover{
		Log: n.log, Sessions: n.sessions, Cache: n.cache, Materializer: n.materializer, Directory: n.directory.index,
		Snapshots: n.snapshots, Window: time.Duration(n.cfg.Trash.Window),
	}
}

func (n *node) doctor() *doctor.Doctor {
	return &doctor.Doctor{
		Log: n.log, Sessions: n.sessions, Materializer: n.materializer, Directory: n.directory.index,
		Bucket: n.bucket, Blobs: n.blobs, Audit: n.audit, Presence: n.presence, Verifier: n.verifier(), Node: n.doctorNode(),
	}
}

func (n *node) verifier() *verify.Verifier {
	return &verify.Verifier{
		Log: n.log, Sessions: n.durable, Cache: n.cache, Materializer: n.materializer, Directory: n.directory.index,
		Snapshots: n.snapshots, Blobs: n.blobs,
	}
}

// doctorNode describes this process to the doctor.
func (n *node) doctorNode() doctor.Node {
	d := doctor.Node{Name: n.cfg.Node, Dir: n.cfg.Data, Ready: n.broker.check, Store: n.store.check}
	if n.broker.server != nil {
		sync := n.cfg.NATS.Sync.Interval()
		d.Sync = &sync
	}
	if n.broker.server != nil || n.cfg.Blobs.Store == "fs" {
		d.Disk = func() (free, size int64, ok bool) { return embedded.Disk(n.cfg.Data) }
	}
	return d
}

// hostname returns the name of this host for people to read, or "".
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
