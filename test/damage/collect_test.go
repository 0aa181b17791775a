package damage_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/gc"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// collectors are the parts of a node that delete, in this process.
type collectors struct {
	log          *stream.Log
	materializer *materializer.Materializer
	blobs        *gc.Collector
}

// withCollectors calls f with the collectors of a stopped node's data directory.
func withCollectors(ctx context.Context, data string, f func(*collectors) error) (err error) {
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(data, "nats"), GroupCommit: true, MaxStore: maxStore, Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	conn, err := server.Connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	bucket, err := fsblob.Open(filepath.Join(data, "blobs"))
	if err != nil {
		return err
	}
	return collectorsOf(ctx, place{conn: conn, durable: server.Durable, bucket: bucket, rows: filepath.Join(data, "index.db")}, f)
}

// A place is where the parts of a log are.
type place struct {
	conn     *nats.Conn
	replicas int
	durable  stream.Durable
	bucket   blobstore.Bucket
	rows     string // the path of the directory
}

var quiet = slog.New(slog.DiscardHandler)

// collectorsOf calls f with the collectors of a log. They take everything for old enough.
func collectorsOf(ctx context.Context, at place, f func(*collectors) error) (err error) {
	stored := blobstore.New(at.bucket).WithGrace(time.Nanosecond)
	blobs, snapshots := materializer.NewBlobs(stored), materializer.NewSnapshots(at.bucket)
	log, err := stream.OpenLog(ctx, at.conn, stream.LogConfig{Replicas: at.replicas, Blobs: blobs, Durable: at.durable})
	if err != nil {
		return err
	}
	rows, err := index.Open(ctx, index.Config{Path: at.rows, Log: log.Name(), Logger: quiet})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	guard := materializer.NewGuard(log, snapshots, quiet)
	sessions := engine.NewSessions(engine.Config{
		Log: log, Blobs: blobs, Snapshots: snapshots, Dialects: dialect.All(), Witness: guard, Logger: quiet,
	})
	defer sessions.Close(context.WithoutCancel(ctx))
	c := &collectors{log: log}
	c.materializer = materializer.New(materializer.Config{
		Log: log, Sessions: sessions, Cache: materializer.NewCache(sessions, 16<<20), Snapshots: snapshots, Directory: rows, Guard: guard,
		Garbage: 1, Grace: -1, Logger: quiet,
	})
	c.blobs = gc.New(gc.Config{
		Log: log, Sessions: sessions, Bucket: at.bucket, Blobs: stored, Hold: guard.Hold, Logger: quiet,
		Record: recordIn(at.bucket), Now: func() time.Time { return time.Now().Add(time.Hour) },
	})
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.materializer.Run(running) }()
	defer func() {
		stop()
		if ran := <-done; !errors.Is(ran, context.Canceled) {
			err = errors.Join(err, ran)
		}
	}()
	return f(c)
}

// collect runs all collectors on a stopped node's data directory.
func collect(t *testing.T, data string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return withCollectors(ctx, data, func(c *collectors) error { return c.run(ctx) })
}

// run runs all collectors twice: what the first run of a collector leaves may be garbage
// for the second. Their errors are not of interest, as they may refuse to delete anything.
func (c *collectors) run(ctx context.Context) error {
	for range 2 {
		_, _, err := c.materializer.Collect(ctx, 0)
		if ctx.Err() != nil {
			return fmt.Errorf("the collector of snapshots does not end: %w", err)
		}
		for shard := range c.log.Shards() {
			if _, err = c.materializer.Truncate(ctx, shard); ctx.Err() != nil {
				return fmt.Errorf("the truncation of shard %d does not end: %w", shard, err)
			}
		}
		if _, err = c.blobs.Run(ctx, gc.Request{Apply: true}); ctx.Err() != nil {
			return fmt.Errorf("the collector of blobs does not end: %w", err)
		}
	}
	return nil
}

// recordIn records deletions in a bucket.
func recordIn(bucket blobstore.Bucket) func(context.Context, gc.Deletion) error {
	return func(ctx context.Context, d gc.Deletion) error {
		line := d.Run + "\n"
		return bucket.Put(ctx, "reports/main/gc/"+d.Run+".jsonl", strings.NewReader(line), int64(len(line)))
	}
}
