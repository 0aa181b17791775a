package materializer_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/fsblob"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

// A counted bucket counts the bytes put into it.
type counted struct {
	blobstore.Bucket
	put atomic.Int64
}

func (c *counted) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	c.put.Add(size)
	return c.Bucket.Put(ctx, key, src, size)
}

// A toil writes to sessions for a long time.
type toil struct {
	*rig
	f        workload
	servers  []*embedded.Server
	put      *counted
	mat      *materializer.Materializer
	appended atomic.Int64

	live, held, files int64 // bytes, as of the last check
}

// newToil returns a toil with its own server.
func newToil(t *testing.T, f workload) *toil {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), SyncEvery: f.sync, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return newToilOn(t, f, server)
}

// newToilOn returns a toil whose log has a copy on each server.
func newToilOn(t *testing.T, f workload, servers ...*embedded.Server) *toil {
	t.Helper()
	conn, err := servers[0].Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	w := &toil{f: f, servers: servers, put: &counted{Bucket: objects(t)}}
	w.rig = &rig{conn: conn, bucket: w.put, quiet: slog.New(slog.DiscardHandler), file: filepath.Join(t.TempDir(), "index.db"), blobs: blobstore.New(w.put)}
	blobs := materializer.NewBlobs(w.rig.blobs)
	if w.log, err = stream.OpenLog(t.Context(), conn, stream.LogConfig{Blobs: blobs, Shards: 4, Replicas: len(servers)}); err != nil {
		t.Fatal(err)
	}
	w.snapshots = materializer.NewSnapshots(w.put)
	w.sessions = engine.NewSessions(engine.Config{Log: w.log, Blobs: blobs, Snapshots: w.snapshots, Dialects: dialect.All(), Logger: w.quiet})
	w.cache = materializer.NewCache(w.sessions, f.cache)
	w.mat, _, _ = w.runAs(t, materializer.Config{
		Policy: materializer.Policy{MinTail: int64(f.minTail), Idle: time.Second}, Garbage: f.garbage, Grace: time.Nanosecond,
	})
	return w
}

// objects returns a bucket: on disk, if memory is measured.
func objects(t *testing.T) blobstore.Bucket {
	t.Helper()
	if !*long {
		return memblob.New()
	}
	b, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func sessionName(i int) core.SessionID { return core.SessionID(fmt.Sprintf("session-%05d", i)) }

// write writes to every session.
func (w *toil) write(t *testing.T, round int) {
	t.Helper()
	if err := w.each(func(i int) error { return w.writeOne(t, i, round) }); err != nil {
		t.Fatal(err)
	}
}

// each calls f for every session, several concurrently.
func (w *toil) each(f func(i int) error) error {
	var g errgroup.Group
	g.SetLimit(w.f.writers)
	for i := range w.f.sessions {
		g.Go(func() error {
			if err := f(i); err != nil {
				return fmt.Errorf("session %d: %w", i, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// writeOne appends lines to a session, or replaces as many.
func (w *toil) writeOne(t *testing.T, i, round int) error {
	id := sessionName(i)
	if round == 0 {
		w.cache.Put(w.create(t, string(id)))
	}
	s, err := w.cache.Get(t.Context(), id)
	if err != nil {
		return err
	}
	lines := make([][]byte, linesPerRound)
	for n := range lines {
		lines[n] = w.line(fmt.Sprintf("e%d-%d", round%w.f.growing, n))
	}
	if round < w.f.growing {
		_, err := s.Append(t.Context(), engine.Append{Lines: lines})
		return err
	}
	var a engine.Amend
	a.Lines(lines)
	_, err = s.Amend(t.Context(), a)
	return err
}

// line returns an entry of noise, which compression makes hardly smaller. The
// search ignores it, because indexing random words is not measured here.
func (w *toil) line(id string) []byte {
	noise := make([]byte, w.f.line*3/4)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	w.appended.Add(int64(w.f.line))
	return fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":null,"message":{"role":"user","content":"again"},"noise":%q}`, id, base64.StdEncoding.EncodeToString(noise))
}

// size reads all sessions, and returns their total size.
func (w *toil) size(t *testing.T) int64 {
	t.Helper()
	var sum atomic.Int64
	err := w.each(func(i int) error {
		s, err := w.sessions.Open(t.Context(), sessionName(i))
		if err == nil {
			sum.Add(int64(len(rendered(s))))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum.Load()
}

// openings opens some sessions one by one, and returns how long that took.
func (w *toil) openings(t *testing.T) (p50, p99 time.Duration) {
	t.Helper()
	took := make([]time.Duration, min(w.f.sessions, 200))
	for n := range took {
		start := time.Now()
		if _, err := w.sessions.Open(t.Context(), sessionName(n*w.f.sessions/len(took))); err != nil {
			t.Fatal(err)
		}
		took[n] = time.Since(start)
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// onDisk returns the size of the files of the server with the largest ones.
func (w *toil) onDisk() (most int64) {
	for _, s := range w.servers {
		most = max(most, sizeOf(s.Config().Dir))
	}
	return most
}

func sizeOf(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // files appear and disappear
	})
	return size
}
