package client_test

import (
	"context"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// nodeURL is the URL of the node that the examples use.
var nodeURL string

func TestMain(m *testing.M) {
	ctx, stop := context.WithCancel(context.Background())
	dir := must(os.MkdirTemp("", "client"))
	end := startNode(ctx, dir)
	code := m.Run()
	stop()
	end()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// startNode serves a log until ctx ends. The returned function waits for the end.
func startNode(ctx context.Context, dir string) (wait func()) {
	quiet := slog.New(slog.DiscardHandler)
	broker := must(embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "nats"), Logger: quiet}))
	conn := must(broker.Connect())
	bucket := memblob.New()
	blobs := blobstore.New(bucket)
	records := must(stream.OpenLog(ctx, conn, stream.LogConfig{Name: "main", Blobs: materializer.NewBlobs(blobs)}))
	snapshots := materializer.NewSnapshots(bucket)
	sessions := engine.NewSessions(engine.Config{
		Log: records, Blobs: materializer.NewBlobs(blobs), Snapshots: snapshots, Dialects: dialect.All(), Host: "example", Logger: quiet,
	})
	cache := materializer.NewCache(sessions, 64<<20)
	directory := must(index.Open(ctx, index.Config{Path: filepath.Join(dir, "index.db"), Log: records.Name(), Logger: quiet}))
	mat := materializer.New(materializer.Config{
		Log: records, Sessions: sessions, Cache: cache, Snapshots: snapshots, Directory: directory, Logger: quiet,
	})
	node := server.New(server.Config{
		Log: records, Sessions: sessions, Cache: cache, Materializer: mat, Directory: directory, Snapshots: snapshots, Blobs: blobs,
		Node: "example", Logger: quiet,
	})
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	nodeURL = "http://" + ln.Addr().String()
	done := make(chan struct{}, 2)
	go func() { _ = mat.Run(ctx); done <- struct{}{} }()
	go func() { _ = node.Run(ctx, ln); done <- struct{}{} }()
	return func() {
		for range cap(done) {
			<-done
		}
		_ = directory.Close()
		conn.Close()
		_ = broker.Close()
	}
}
