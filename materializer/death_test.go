package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/doctor"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/materializer/verify"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

var errDead = errors.New("the process is dead")

// A life ends at its nth step: that step and all later ones have no effect.
type life struct {
	left  atomic.Int64
	steps atomic.Int64
}

func (l *life) step() error {
	l.steps.Add(1)
	if l.left.Add(-1) < 0 {
		return errDead
	}
	return nil
}

func (l *life) isOver() bool { return l.left.Load() < 0 }

// A mortalConn is the connection of a process that may die, and a mortalBucket its
// bucket.
type mortalConn struct {
	net.Conn
	life *life
}

func (c *mortalConn) Write(p []byte) (int, error) {
	if err := c.life.step(); err != nil {
		_ = c.Close()
		return 0, err
	}
	return c.Conn.Write(p)
}

type mortalDialer struct{ life *life }

func (d mortalDialer) Dial(network, addr string) (net.Conn, error) {
	c, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	return &mortalConn{c, d.life}, nil
}

type mortalBucket struct {
	blobstore.Bucket
	life *life
}

func (b *mortalBucket) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	if err := b.life.step(); err != nil {
		return err
	}
	if err := b.Bucket.Put(ctx, key, src, size); err != nil {
		return err
	}
	return b.life.step() // the answer
}

func (b *mortalBucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := b.life.step(); err != nil {
		return nil, err
	}
	return b.Bucket.Get(ctx, key)
}

func (b *mortalBucket) List(ctx context.Context, prefix string) iter.Seq2[blobstore.Info, error] {
	if err := b.life.step(); err != nil {
		return func(yield func(blobstore.Info, error) bool) { yield(blobstore.Info{}, err) }
	}
	return b.Bucket.List(ctx, prefix)
}

func (b *mortalBucket) Delete(ctx context.Context, key string) error {
	if err := b.life.step(); err != nil {
		return err
	}
	if err := b.Bucket.Delete(ctx, key); err != nil {
		return err
	}
	return b.life.step()
}

// on returns the rig of a process that reaches the server through conn, with these
// timeouts.
func on(t *testing.T, conn *nats.Conn, bucket blobstore.Bucket, timeout, retry time.Duration) (*rig, error) {
	t.Helper()
	r := &rig{conn: conn, bucket: bucket, blobs: blobstore.New(bucket), quiet: slog.New(slog.DiscardHandler)}
	blobs := materializer.NewBlobs(r.blobs)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	if r.log, err = stream.OpenLog(ctx, conn, stream.LogConfig{Shards: 1, Blobs: blobs}); err != nil {
		return nil, err
	}
	r.snapshots = materializer.NewSnapshots(bucket)
	r.sessions = engine.NewSessions(engine.Config{
		Log: r.log, Blobs: blobs, Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet,
		Timeout: timeout, RetryTimeout: retry,
	})
	r.cache = materializer.NewCache(r.sessions, 1<<20)
	return r, nil
}

// work checkpoints every session, truncates the log, and deletes old snapshots.
func (r *rig) work(ctx context.Context, m *materializer.Materializer, ids []core.SessionID) error {
	for _, id := range ids {
		s, err := r.sessions.Open(ctx, id)
		if err != nil {
			return err
		}
		if _, err := m.Checkpoint(ctx, s); err != nil {
			return err
		}
	}
	if _, err := m.Truncate(ctx, 0); err != nil {
		return err
	}
	_, _, err := m.Collect(ctx, 0)
	return err
}

func (r *rig) worker(t *testing.T) (*materializer.Materializer, *index.Index) {
	t.Helper()
	d, err := index.Open(t.Context(), index.Config{Path: filepath.Join(t.TempDir(), "index.db"), Log: r.log.Name(), Logger: r.quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	cfg := manual
	cfg.Garbage = 1 << 10
	cfg.Log, cfg.Sessions, cfg.Cache, cfg.Snapshots, cfg.Directory, cfg.Logger = r.log, r.sessions, r.cache, r.snapshots, d, r.quiet
	return materializer.New(cfg), d
}

// After a materializer dies at any step, the next one finds nothing to repair, and
// leaves one snapshot per session.
func TestMaterializerRecoversFromCrashAtAnyStep(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	conn, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	bucket := memblob.New()
	r, err := on(t, conn, bucket, time.Minute, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r.file = filepath.Join(t.TempDir(), "index.db")
	cfg := manual
	cfg.Garbage = 1 << 10
	m, d, _ := r.runAs(t, cfg) // a node that stays alive
	var open []*engine.Session
	var ids []core.SessionID
	for i := range 3 {
		open = append(open, r.create(t, fmt.Sprintf("session-%d", i)))
		ids = append(ids, open[i].ID())
	}
	stride := int64(7)
	if *long {
		stride = 1
	}
	deaths := 0
	for n := int64(1); ; n += stride {
		for _, s := range open { // garbage, after the checkpoints
			for range 3 {
				add(t, s, 500)
			}
		}
		want := map[core.SessionID][]byte{}
		for _, s := range open {
			want[s.ID()] = rendered(s)
		}
		var l *life
		await(t, "a life that nothing but its end cuts short", func() bool {
			l = &life{}
			l.left.Store(1 << 40)
			return mortal(t, server.ClientURL(), bucket, l, n, ids)
		})
		r.sound(t, d, m, want)
		r.healthy(t, d, m)
		if t.Failed() {
			t.Fatalf("it died at step %d", n)
		}
		if !l.isOver() {
			break
		}
		deaths++
	}
	for _, s := range open {
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.work(t.Context(), m, ids); err != nil {
		t.Fatal(err)
	}
	left := 0
	for info, err := range bucket.List(t.Context(), "snapshots/") {
		if err != nil {
			t.Fatal(err)
		}
		left++
		if info.Size == 0 {
			t.Errorf("%s is empty", info.Key)
		}
	}
	if left != len(ids) {
		t.Errorf("%d snapshots are left of %d sessions", left, len(ids))
	}
	t.Logf("died %d times", deaths)
}

// healthy fails the test if a doctor finds something to repair.
func (r *rig) healthy(t *testing.T, d *index.Index, m *materializer.Materializer) {
	t.Helper()
	fine := func(context.Context) error { return nil }
	always := time.Duration(0)
	doc := &doctor.Doctor{
		Log: r.log, Sessions: r.sessions, Materializer: m, Directory: d, Bucket: r.bucket, Blobs: r.blobs,
		Verifier: &verify.Verifier{Log: r.log, Sessions: r.sessions, Cache: r.cache, Materializer: m, Directory: d, Snapshots: r.snapshots, Blobs: r.blobs},
		Node:     doctor.Node{Sync: &always, Ready: fine, Store: fine, Disk: func() (free, size int64, ok bool) { return 0, 0, false }},
	}
	found, err := doc.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		if f.Check == "durability" || f.Level == report.Note {
			continue // a single server, or what is cleaned up automatically
		}
		t.Errorf("a doctor finds %s: %s %s", f.Check, f.What, f.Detail)
	}
}

// mortal runs a process that dies at its nth step. It returns false if the process
// did not die but timed out on a busy machine.
func mortal(t *testing.T, url string, bucket blobstore.Bucket, l *life, n int64, ids []core.SessionID) bool {
	t.Helper()
	conn, err := nats.Connect(url, nats.SetCustomDialer(mortalDialer{l}), nats.NoReconnect(), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, err := on(t, conn, &mortalBucket{bucket, l}, time.Second, 200*time.Millisecond) // dead processes do not wait
	if errors.Is(err, core.ErrUnavailable) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	m, _ := r.worker(t)
	l.left.Store(n)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	switch err := r.work(ctx, m, ids); {
	case err == nil, l.isOver():
		return true
	case errors.Is(err, core.ErrUnavailable), errors.Is(err, core.ErrUncertain), ctx.Err() != nil:
		return false
	default:
		t.Fatal(err)
		return false
	}
}
