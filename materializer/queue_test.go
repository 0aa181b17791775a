package materializer_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
)

// A gate blocks all puts until it is opened.
type gate struct {
	blobstore.Bucket
	opened chan struct{}
}

func (g *gate) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	select {
	case <-g.opened:
		return g.Bucket.Put(ctx, key, src, size)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sessions that wait for their snapshot while the object store is slow take no
// memory beyond the cache, and all get one.
func TestQueuedSessionsAreNotHeldInMemory(t *testing.T) {
	t.Parallel()
	const sessions, writing = 16, 4
	g := &gate{Bucket: memblob.New(), opened: make(chan struct{})}
	open := sync.OnceFunc(func() { close(g.opened) })
	defer open()
	r := newRig(t)
	r.bucket, r.snapshots = g, materializer.NewSnapshots(g)
	r.sessions = engine.NewSessions(engine.Config{Log: r.log, Blobs: materializer.NewBlobs(r.blobs), Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	r.cache = materializer.NewCache(r.sessions, 1) // one session
	m, _, _ := r.run(t, materializer.Policy{MinTail: 1 << 10, Idle: time.Hour})

	var kept []weak.Pointer[engine.Session]
	for i := range sessions {
		s := r.create(t, fmt.Sprintf("session-%02d", i))
		add(t, s, 10_000)
		if err := m.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		met, err := r.cache.Get(t.Context(), s.ID()) // the session that is followed
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, weak.Make(met))
	}
	await(t, "those that wait to be let go", func() bool {
		runtime.GC()
		alive := 0
		for _, p := range kept {
			if p.Value() != nil {
				alive++
			}
		}
		return alive <= writing+1
	})
	open()
	for i := range sessions {
		await(t, "each to get its snapshot", func() bool {
			s, err := r.sessions.Open(t.Context(), core.SessionID(fmt.Sprintf("session-%02d", i)))
			if err != nil {
				t.Fatal(err)
			}
			_, covered := checkpointed(s)
			return covered == 2
		})
	}
}
