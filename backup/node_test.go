package backup_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

// A node is a node in this process, with a real server and real files.
type node struct {
	*client.Client
	bucket *hooked
	log    *stream.Log

	sessions *engine.Sessions
}

// A hooked bucket calls a function before each Stat.
type hooked struct {
	blobstore.Bucket
	look atomic.Pointer[func(key string)]
}

func (h *hooked) Stat(ctx context.Context, key string) (blobstore.Info, error) {
	if f := h.look.Load(); f != nil {
		(*f)(key)
	}
	return h.Bucket.Stat(ctx, key)
}

// startNode runs a node with its own server until the test ends.
func startNode(t *testing.T) *node { return startNodeOf(t, "main") }

func startNodeOf(t *testing.T, name string) *node {
	t.Helper()
	ctx := t.Context()
	conn, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	files, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bucket := &hooked{Bucket: files}
	quiet := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	blobs := blobstore.New(bucket)
	log, err := stream.OpenLog(ctx, conn, stream.LogConfig{Name: name, Blobs: materializer.NewBlobs(blobs), First: stream.FirstPos(time.Now())})
	if err != nil {
		t.Fatal(err)
	}
	snapshots := materializer.NewSnapshots(bucket)
	sessions := engine.NewSessions(engine.Config{
		Log: log, Blobs: materializer.NewBlobs(blobs), Snapshots: snapshots, Dialects: dialect.All(), Host: "test", Logger: quiet,
	})
	cache := materializer.NewCache(sessions, 64<<20)
	directory, err := index.Open(ctx, index.Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: log.Name(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	mat := materializer.New(materializer.Config{
		Log: log, Sessions: sessions, Cache: cache, Snapshots: snapshots, Directory: directory, Logger: quiet,
		Policy: materializer.Policy{MinTail: 1 << 40, Idle: time.Hour},
	}) // snapshots are made on request only
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := server.New(server.Config{
		Log: log, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory,
		Snapshots: snapshots, Blobs: blobs, Node: "test", Version: "test", Logger: quiet,
	})
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{}, 2)
	go func() { _ = server.Run(work, ln); done <- struct{}{} }()
	go func() { _ = mat.Run(work); done <- struct{}{} }()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	return &node{Client: &client.Client{Base: "http://" + ln.Addr().String()}, bucket: bucket, log: log, sessions: sessions}
}

// bring imports a file.
func (n *node) bring(t *testing.T, file string) string {
	t.Helper()
	res, err := n.Import(t.Context(), strings.NewReader(file), int64(len(file)), client.ImportOptions{})
	if err != nil {
		t.Fatalf("import: %v", err)
	}
	return string(res.Session)
}

// say appends a message.
func (n *node) say(t *testing.T, id, text string) {
	t.Helper()
	line := `{"type":"message","message":{"role":"user","content":"` + text + `"}}`
	if _, err := n.Append(t.Context(), id, []byte(line), client.AppendOptions{}); err != nil {
		t.Fatalf("append: %v", err)
	}
}
