package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

var truncated = flag.Int("truncated", 500, "sessions in the prefix that BenchmarkTruncate drops")

// few limits the sessions of l that Truncate processes at a time to n.
func few(l core.Log, b *streamtest.Blobs, n int) *engine.Sessions {
	return engine.NewSessions(engine.Config{Log: full(l), Blobs: b, Snapshots: b, Dialects: dialect.All(), Host: "host", Concurrency: n})
}

// crowded makes n sessions, each with four lines of size bytes together and a
// checkpoint, and returns the position after them.
func crowded(tb testing.TB, l core.Log, b *streamtest.Blobs, n, size int) (ids []core.SessionID, upTo core.Pos) {
	tb.Helper()
	ss := few(l, b, 1)
	text := strings.Repeat("x", size/4)
	var all []string
	for i := range 4 {
		all = append(all, fmt.Sprintf(`{"type":"custom","id":"n%d","x":%q}`, i, text))
	}
	for i := range n {
		id := core.SessionID(fmt.Sprintf("session-%05d", i))
		s, err := ss.Create(tb.Context(), birth(tb, id, entry("root", "")))
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := s.Append(tb.Context(), engine.Append{Lines: rawLines(all)}); err != nil {
			tb.Fatal(err)
		}
		if err := tryCheckpoint(tb.Context(), s, b); err != nil {
			tb.Fatal(err)
		}
		_ = s.View(func(st *core.State) error { upTo = st.Pos; return nil })
		ids = append(ids, id)
	}
	return ids, upTo
}

// A crowd counts concurrent checkpoint writes.
type crowd struct {
	b         *streamtest.Blobs
	now, most atomic.Int64
	begun     atomic.Int64
}

func (c *crowd) write(ctx context.Context, s *engine.Session) error {
	c.begun.Add(1)
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return tryCheckpoint(ctx, s, c.b)
}

// Exactly Config.Concurrency sessions are processed at a time, and each has a
// checkpoint at the end.
func TestTruncateProcessesSessionsConcurrently(t *testing.T) {
	t.Parallel()
	const atOnce, n = 4, 16
	l, b := memlog.New("test"), streamtest.NewBlobs()
	ids, upTo := crowded(t, l, b, n, 1<<10)
	p, c := &prefix{ids: ids}, &crowd{b: b}
	met := make(chan struct{})
	var came atomic.Int64
	take := func(ctx context.Context, s *engine.Session) error {
		if came.Add(1) == atOnce {
			close(met)
		}
		err := c.write(ctx, s)
		select {
		case <-met:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := few(l, b, atOnce).Truncate(t.Context(), p, 0, upTo, take); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		last, err := l.Last(t.Context(), id)
		if err != nil || last.Pos <= upTo || last.Kind != core.KindCheckpoint {
			t.Errorf("the last record of session %s is %v, %v", id, last, err)
		}
	}
	if c.begun.Load() != n || c.most.Load() > atOnce || p.dropped.IsZero() {
		t.Errorf("%d checkpoints, %d concurrent, dropped %v", c.begun.Load(), c.most.Load(), p.dropped)
	}
}

// A large session needs several times its size in memory, so the total size of
// concurrent sessions is bounded.
func TestTruncateProcessesLargeSessionsOneByOne(t *testing.T) {
	t.Parallel()
	l, b := memlog.New("test"), streamtest.NewBlobs()
	ids, upTo := crowded(t, l, b, 32, 1<<10)
	p, c := &prefix{ids: ids}, &crowd{b: b}
	ss := few(l, b, 8)
	ss.TruncateWithin(2000) // each is more than half of that
	if err := ss.Truncate(t.Context(), p, 0, upTo, c.write); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "concurrent checkpoints", int64(1), c.most.Load())
	testkit.Equal(t, "checkpoints", int64(32), c.begun.Load())
}

// After the first session that blocks truncation, no other is started and no record is
// dropped.
func TestTruncateStopsAtFirstBlockingSession(t *testing.T) {
	t.Parallel()
	const atOnce = 4
	l, b := memlog.New("test"), streamtest.NewBlobs()
	ids, upTo := crowded(t, l, b, 16, 1<<10)
	p := &prefix{ids: ids}
	failed := errors.New("no snapshot today")
	var begun atomic.Int64
	err := few(l, b, atOnce).Truncate(t.Context(), p, 0, upTo, func(context.Context, *engine.Session) error {
		begun.Add(1)
		return failed
	})
	in, ok := errors.AsType[*engine.BlockedError](err)
	if !ok || !errors.Is(err, failed) || !strings.HasPrefix(string(in.Session), "session-0000") {
		t.Errorf("error is %v", err)
	}
	if begun.Load() > atOnce || !p.dropped.IsZero() {
		t.Errorf("%d were started, dropped %v", begun.Load(), p.dropped)
	}
}

// A canceled truncation drops nothing.
func TestCanceledTruncateDropsNothing(t *testing.T) {
	t.Parallel()
	l, b := memlog.New("test"), streamtest.NewBlobs()
	ids, upTo := crowded(t, l, b, 16, 1<<10)
	p := &prefix{ids: ids}
	ctx, cancel := context.WithCancel(t.Context())
	err := few(l, b, 4).Truncate(ctx, p, 0, upTo, func(ctx context.Context, s *engine.Session) error {
		defer cancel()
		return tryCheckpoint(t.Context(), s, b)
	})
	if !errors.Is(err, context.Canceled) || !p.dropped.IsZero() {
		t.Errorf("error is %v, dropped %v", err, p.dropped)
	}
}

// A farBlobs is a store with network latency on each call.
type farBlobs struct {
	*streamtest.Blobs
	away time.Duration
}

func (b farBlobs) Put(ctx context.Context, p []byte) (core.Digest, error) {
	time.Sleep(b.away)
	return b.Blobs.Put(ctx, p)
}

func (b farBlobs) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	time.Sleep(b.away)
	return b.Blobs.Load(ctx, m)
}

// BenchmarkTruncate drops a prefix of many small sessions, one at a time and
// concurrently, from a server that flushes before every answer. The object store is
// local, or has the latency of a network:
//
//	go test ./engine -run - -bench Truncate -benchtime 1x -timeout 30m -args -truncated 3000
func BenchmarkTruncate(b *testing.B) {
	for _, away := range []time.Duration{0, 10 * time.Millisecond} {
		var alone float64
		for _, atOnce := range []int{1, 0} { // 0 is the default
			b.Run(fmt.Sprintf("store=%v/AtOnce=%d", away, atOnce), func(b *testing.B) {
				each := 0.0
				for range b.N {
					each += truncation(b, atOnce, away).Seconds() / float64(*truncated) / float64(b.N)
				}
				if atOnce == 1 {
					alone = each
				}
				b.ReportMetric(each*1e3, "ms/session")
				b.ReportMetric(alone/each, "times-as-fast")
			})
		}
	}
}

// truncation measures how long it takes to drop all records of a shard.
func truncation(b *testing.B, atOnce int, away time.Duration) time.Duration {
	b.Helper()
	server := embeddedtest.Start(b)
	nc, err := server.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	near := streamtest.NewBlobs()
	l, err := stream.OpenLog(b.Context(), nc, stream.LogConfig{Shards: 1, Blobs: near})
	if err != nil {
		b.Fatal(err)
	}
	_, upTo := crowded(b, l, near, *truncated, 2<<10)
	far := farBlobs{near, away}
	ss := engine.NewSessions(engine.Config{Log: full(l), Blobs: far, Snapshots: far, Dialects: dialect.All(), Host: "host", Concurrency: atOnce})
	began := time.Now()
	if err := ss.Truncate(b.Context(), l, 0, upTo, func(ctx context.Context, s *engine.Session) error {
		d := draft(s)
		if _, err := far.Put(ctx, d.Plain); err != nil {
			return err
		}
		return s.Checkpoint(ctx, d)
	}); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
