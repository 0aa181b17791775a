// Package nodetest runs nodes inside the test process: a NATS server, the engine, a
// materializer with its index, and the HTTP server.
package nodetest

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/materializer/removal"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

// Config configures a node. The zero value is a node with its own server and files.
type Config struct {
	Conn     *nats.Conn          // default: a connection to a new server
	Bucket   blobstore.Bucket    // default: a new directory
	Log      string              // name of the log; default "main"
	First    core.Pos            // first position of a new log; see stream.FirstPos
	Policy   materializer.Policy // when snapshots are written
	Presence session.Presence    // announced if it has an ID
	Uncached bool                // blobs are read from the bucket every time
	Level    slog.Leveler        // lowest level of the log lines in the test's output; default warnings
	Tracer   trace.Tracer        // default none
	// Serve changes the configuration of the HTTP server before it starts.
	Serve func(*server.Config)
}

// A Node is a running node and a client of it.
type Node struct {
	*client.Client
	Server *server.Server
	Config server.Config // what Server was made of
	Conn   *nats.Conn
	Bucket blobstore.Bucket
	// Stop stops the node, once. It runs when the test ends, too.
	Stop func()
}

// Connect starts a server and returns a connection to it. Both are closed when the
// test ends.
func Connect(t testing.TB) *nats.Conn {
	t.Helper()
	conn, err := embeddedtest.Start(t).Connect()
	testkit.Must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// Start runs a node until the test ends.
func Start(t testing.TB, cfg Config) *Node {
	t.Helper()
	if cfg.Log == "" {
		cfg.Log = "main"
	}
	if cfg.Level == nil {
		cfg.Level = slog.LevelWarn
	}
	if cfg.Conn == nil {
		cfg.Conn = Connect(t)
	}
	if cfg.Bucket == nil {
		files, err := fsblob.Open(t.TempDir())
		testkit.Must(t, err)
		cfg.Bucket = files
	}
	served, directory := parts(t, &cfg)
	if cfg.Serve != nil {
		cfg.Serve(&served)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	n := &Node{
		Client: &client.Client{Base: "http://" + ln.Addr().String(), Token: served.Token},
		Server: server.New(served), Config: served, Conn: cfg.Conn, Bucket: cfg.Bucket,
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { _ = served.Tokens.Run(ctx) })
	wg.Go(func() { _ = n.Server.Run(ctx, ln) })
	wg.Go(func() { _ = served.Materializer.Run(ctx); _ = directory.Close() })
	if cfg.Presence.ID != "" {
		wg.Go(func() { _ = served.Presence.Run(ctx) })
	}
	n.Stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(n.Stop)
	return n
}

// parts makes everything that the HTTP server serves.
func parts(t testing.TB, cfg *Config) (server.Config, *index.Index) {
	t.Helper()
	ctx, logger := t.Context(), testkit.Logger(t, cfg.Level)
	blobs := blobstore.NewCached(cfg.Bucket, 1<<20)
	if cfg.Uncached {
		blobs = blobstore.New(cfg.Bucket)
	}
	log, err := stream.OpenLog(ctx, cfg.Conn, stream.LogConfig{
		Name: cfg.Log, Blobs: materializer.NewBlobs(blobs), First: cfg.First, Tracer: cfg.Tracer,
	})
	testkit.Must(t, err)
	snapshots := materializer.NewSnapshots(cfg.Bucket)
	sessions := engine.NewSessions(engine.Config{
		Log: log, Blobs: materializer.NewBlobs(blobs), Snapshots: snapshots, Dialects: dialect.All(), Host: "test",
		Logger: logger, Tracer: cfg.Tracer,
	})
	cache := materializer.NewCache(sessions, 64<<20)
	directory, err := index.Open(ctx, index.Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: log.Name(), Logger: logger})
	testkit.Must(t, err)
	js, err := jetstream.New(cfg.Conn)
	testkit.Must(t, err)
	audit, err := stream.OpenAudit(ctx, js, log.Name(), 1)
	testkit.Must(t, err)
	mat := materializer.New(materializer.Config{
		Log: log, Sessions: sessions, Cache: cache, Snapshots: snapshots, Directory: directory, Policy: cfg.Policy,
		Logger: logger, Tracer: cfg.Tracer,
	})
	presence := stream.NewPresence(js, log.Name(), 1, cfg.Presence)
	served := server.Config{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Blobs: blobs,
		Audit: audit, Tokens: tokenstore.New(js, log.Name(), 1, logger), Node: "test", Version: "test", Logger: logger, Tracer: cfg.Tracer,
		Remover: &removal.Remover{
			Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots,
			Window: 720 * time.Hour,
		},
		Doctor: &doctor.Doctor{
			Log: log, Sessions: sessions, Materializer: mat, Directory: directory, Bucket: cfg.Bucket, Blobs: blobs, Audit: audit,
			Presence: presence,
			Verifier: &verify.Verifier{
				Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Blobs: blobs,
			},
			Node: doctor.Node{Name: "test", Ready: reachable, Store: reachable},
		},
	}
	if cfg.Presence.ID != "" {
		served.Presence = presence
	}
	return served, directory
}

func reachable(context.Context) error { return nil }
