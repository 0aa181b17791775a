package materializer_test

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/blobstore"
	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded"
)

var long = flag.Bool("long", false, "longer forms of tests")

// A counted bucket counts the bytes that are put into it.
type counted struct {
	blobstore.Bucket
	put atomic.Int64
}

func (c *counted) Put(ctx context.Context, key string, src io.Reader, size int64) error {
	c.put.Add(size)
	return c.Bucket.Put(ctx, key, src, size)
}

// A toil is sessions that are written to for ever.
type toil struct {
	*rig
	dir      string
	put      *counted
	mat      *materializer.Materializer
	rows     materializer.Directory
	limit    int64 // of the cache
	appended atomic.Int64
}

// forever is how much is written, and what may lie there.
type forever struct {
	sessions, rounds, writers, line int
	garbage, cache                  int64
	sync                            time.Duration // how late the server flushes; 0 for not at all
	patience                        time.Duration // for a shard to be small again
}

// TestDiskAndMemoryStayBoundedHoweverLongSessionsAreWritten writes and rewrites
// sessions: lines are appended, and lines that are there replaced. With -long
// there are 10,000 of them, and 300,000 records; that needs a -timeout of its own:
//
//	go test ./materializer -run DiskAndMemory -v -timeout 60m -args -long
//
// How often the server flushes is nothing that this is about, so then it does so
// late: a flush for each record would be most of the time.
func TestDiskAndMemoryStayBoundedHoweverLongSessionsAreWritten(t *testing.T) {
	f := forever{sessions: 24, rounds: 8, writers: 8, line: 1500, garbage: 50 << 10, cache: 150 << 10, patience: 20 * time.Second}
	if *long {
		f = forever{sessions: 10_000, rounds: 10, writers: 32, line: 1500, garbage: 4 << 20, cache: 32 << 20, sync: time.Minute, patience: 10 * time.Minute}
	} else {
		t.Parallel()
	}
	w := newToil(t, f)
	for round := range f.rounds {
		w.write(t, f, round)
		if err := w.mat.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.measure(t, f, round)
	}
	size := w.size(t, f)
	put := w.put.put.Load()
	t.Logf("%d sessions of %d bytes; %d bytes were appended, %d went to object storage: %.2f times their size, %.2f times what was appended",
		f.sessions, size, w.appended.Load(), put, float64(put)/float64(size), float64(put)/float64(w.appended.Load()))
	if put > 6*w.appended.Load() {
		t.Errorf("%d bytes were put for %d that were appended", put, w.appended.Load())
	}
}

// size reads all sessions, and returns how large they are.
func (w *toil) size(t *testing.T, f forever) int64 {
	t.Helper()
	var sum atomic.Int64
	var g errgroup.Group
	g.SetLimit(f.writers)
	for i := range f.sessions {
		g.Go(func() error {
			s, err := w.sessions.Open(t.Context(), sessionName(i))
			if err == nil {
				sum.Add(int64(len(rendered(s))))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return sum.Load()
}

func sessionName(i int) core.SessionID { return core.SessionID(fmt.Sprintf("session-%05d", i)) }

func newToil(t *testing.T, f forever) *toil {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, SyncEvery: f.sync, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	conn, err := server.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	w := &toil{dir: dir, put: &counted{Bucket: memblob.New()}, limit: f.cache}
	w.rig = &rig{conn: conn, bucket: w.put, quiet: quiet, file: filepath.Join(t.TempDir(), "index.db"), blobs: blobstore.New(w.put)}
	blobs := materializer.NewBlobs(w.rig.blobs)
	if w.log, err = stream.OpenLog(t.Context(), conn, stream.LogConfig{Blobs: blobs}); err != nil {
		t.Fatal(err)
	}
	w.snapshots = materializer.NewSnapshots(w.put)
	w.sessions = stream.NewSessions(stream.Config{Log: w.log, Blobs: blobs, Snapshots: w.snapshots, Dialects: dialect.All(), Logger: quiet})
	w.cache = materializer.NewCache(w.sessions, f.cache)
	w.mat, w.rows, _ = w.runAs(t, materializer.Config{
		Policy: materializer.Policy{MinTail: 8 << 10, Idle: time.Second}, Garbage: f.garbage, Grace: time.Nanosecond,
	})
	return w
}

// write appends two lines to every session and replaces one.
func (w *toil) write(t *testing.T, f forever, round int) {
	t.Helper()
	var g errgroup.Group
	next := make(chan int)
	for range f.writers {
		g.Go(func() error {
			for i := range next {
				if err := w.writeOne(t, f, i, round); err != nil {
					return fmt.Errorf("session %d: %w", i, err)
				}
			}
			return nil
		})
	}
	for i := range f.sessions {
		next <- i
	}
	close(next)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (w *toil) writeOne(t *testing.T, f forever, i, round int) error {
	id := sessionName(i)
	if round == 0 {
		w.create(t, string(id))
	}
	s, err := w.cache.Get(t.Context(), id)
	if err != nil {
		return err
	}
	for n := range 2 {
		line := w.line(fmt.Sprintf("e%d-%d", round, n), f.line)
		if _, err := s.Append(t.Context(), stream.Append{Lines: [][]byte{line}}); err != nil {
			return err
		}
	}
	var old []byte
	_ = s.View(func(st *core.State) error {
		old = st.Entries[round%len(st.Entries)].Line
		return nil
	})
	again := []byte(strings.Replace(string(old), `"content":"`, fmt.Sprintf(`"content":"again %d `, round), 1))
	w.appended.Add(int64(len(again)))
	var a stream.Amend
	a.Lines([][]byte{again})
	_, err = s.Amend(t.Context(), a)
	return err
}

// line is an entry with size bytes that no compression makes smaller.
func (w *toil) line(id string, size int) []byte {
	noise := make([]byte, size*3/4)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	w.appended.Add(int64(size))
	return fmt.Appendf(nil, `{"type":"message","id":%q,"message":{"role":"user","content":%q}}`, id, base64.StdEncoding.EncodeToString(noise))
}

// measure waits until every shard is as small as it has to be, twice what is live
// and the allowance, and says what there is then.
func (w *toil) measure(t *testing.T, f forever, round int) {
	t.Helper()
	var held, live int64
	for shard := range w.log.Shards() {
		awaitFor(t, f.patience, fmt.Sprintf("shard %d to be small, in round %d", shard, round), func() bool {
			if _, err := w.mat.Truncate(t.Context(), shard); err != nil {
				t.Fatal(err)
			}
			needed, _, err := w.mat.Survey(t.Context(), shard)
			if err != nil {
				t.Fatal(err)
			}
			st, err := w.log.State(t.Context(), shard)
			if err != nil {
				t.Fatal(err)
			}
			if most := 2*needed + f.garbage; int64(st.Bytes) > most+most/50 { // sizes are estimates
				return false
			}
			held, live = held+int64(st.Bytes), live+needed
			return true
		})
	}
	var inMemory, limit int64
	await(t, "the cache to keep its bound", func() bool {
		_, inMemory, limit = w.cache.Stats()
		return inMemory <= limit
	})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("round %2d: appended %5.1f MiB, live %5.1f MiB, log %5.1f MiB, files %5.1f MiB, cache %4.1f of %4.1f MiB, heap %5.1f MiB",
		round, mib(w.appended.Load()), mib(live), mib(held), mib(w.onDisk()), mib(inMemory), mib(limit), mib(int64(m.HeapAlloc)))
}

// onDisk is what the server's files take.
func (w *toil) onDisk() (size int64) {
	_ = filepath.WalkDir(w.dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // files come and go
	})
	return size
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
