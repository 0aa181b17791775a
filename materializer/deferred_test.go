package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
)

// A downBucket answers no reads while it is down.
type downBucket struct {
	blobstore.Bucket
	down atomic.Bool
}

func (b *downBucket) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if b.down.Load() {
		return nil, fmt.Errorf("get %s: %w", key, blobstore.ErrUnavailable)
	}
	return b.Bucket.Get(ctx, key)
}

// While the object store is down, the rows of sessions that need it are pending and
// those of all others are made; when it is back, all are made, also after a restart
// in between.
func TestUnavailableStoreDefersOnlyItsSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bucket := &downBucket{Bucket: r.bucket}
	away := materializer.NewBlobs(blobstore.New(bucket))
	log, err := stream.OpenLog(t.Context(), r.conn, stream.LogConfig{Blobs: away})
	if err != nil {
		t.Fatal(err)
	}
	writer := r.sessions // another node, whose store answers
	mine := *r
	mine.log = log
	mine.snapshots = materializer.NewSnapshots(bucket)
	mine.sessions = engine.NewSessions(engine.Config{Log: log, Blobs: away, Snapshots: mine.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	mine.cache = materializer.NewCache(mine.sessions, 64<<20)
	bucket.down.Store(true)
	m, d, stop := mine.run(t, materializer.Policy{})

	r.sessions = writer
	big, gone := r.create(t, "session-of-a-large-turn"), r.create(t, "session-that-is-erased")
	add(t, big, 10)
	add(t, gone, 10)
	await(t, "the first rows", func() bool { return d.Seq(big.ID()) == 2 && d.Seq(gone.ID()) == 2 })
	noise := make([]byte, 700<<10) // random, so that it is stored as a blob
	for i := range noise {
		noise[i] = 'a' + byte(rand.N(26))
	}
	line := fmt.Sprintf(`{"type":"message","message":{"role":"user","content":%q}}`, noise)
	for _, s := range []*engine.Session{big, gone} {
		if _, err := s.Append(t.Context(), engine.Append{Lines: [][]byte{[]byte(line)}}); err != nil {
			t.Fatal(err)
		}
	}
	others := func(round int) {
		t.Helper()
		for i := range 12 { // in all shards
			s := r.create(t, fmt.Sprintf("session-%d-%02d", round, i))
			add(t, s, 10)
			await(t, "the row of "+string(s.ID()), func() bool { return d.Seq(s.ID()) == 2 })
		}
	}
	others(1)
	add(t, big, 10)
	others(2)
	if d.Seq(big.ID()) != 2 {
		t.Errorf("the row of an unreadable session is of record %d", d.Seq(big.ID()))
	}
	if err := m.CatchUp(t.Context()); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("CatchUp does not report the deferred session: %v", err)
	}
	stop()
	mine.cache = materializer.NewCache(mine.sessions, 64<<20)
	_, d, _ = mine.run(t, materializer.Policy{})
	others(3)
	if err := gone.Erase(t.Context(), core.Notice{}, nil); err != nil {
		t.Fatal(err)
	}
	await(t, "the row of the erased session", func() bool { return slices.Contains(d.Erased(), gone.ID()) })
	bucket.down.Store(false)
	await(t, "the row of the large turn", func() bool { return d.Seq(big.ID()) >= 4 })
}
