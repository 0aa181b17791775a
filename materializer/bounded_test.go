package materializer_test

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

var (
	long      = flag.Bool("long", false, "longer forms of tests")
	manyTimes = flag.Int("rounds", 12, "with -long: how often every session is written to")
	manyOf    = flag.Int("sessions", 10_000, "with -long: how many sessions are written to")
)

// A workload is how much is written to how many sessions, and the allowances.
type workload struct {
	sessions, rounds, writers int
	growing                   int // rounds in which sessions grow; in the others lines are replaced
	line, minTail             int // bytes
	garbage, cache            int64
	sync                      time.Duration // flush interval of the server; 0 flushes before answering
	timeout, pause            time.Duration // how long the log may take to shrink, and the pause between two checks: each leaves consumers for a minute, and the server takes 1,000
}

// linesPerRound is how many lines are appended to a session, or replaced in it, per
// round.
const linesPerRound = 3

// size is about how large a session becomes.
func (f workload) size() int64 { return int64(f.growing*linesPerRound*(f.line+200) + 200) }

// tail is how many bytes of a session may be in the log without a snapshot: what
// makes a snapshot due, what arrives before it is taken, and the overhead of
// records.
func (f workload) tail() int64 {
	return max(int64(f.minTail), f.size()) + 2*int64(linesPerRound*(f.line+200)) + 4<<10
}

// TestDiskAndMemoryStayBounded writes to sessions: it appends lines, then replaces
// lines. With -long there are 10,000 sessions and some 130,000 records, which needs
// a -timeout:
//
//	go test ./materializer -run DiskAndMemory -v -timeout 60m -args -long
//
// The server flushes late, because a flush for each record would take most of the
// time.
func TestDiskAndMemoryStayBounded(t *testing.T) {
	f := workload{
		sessions: 24, rounds: 8, growing: 3, writers: 8, line: 1500, minTail: 8 << 10,
		garbage: 50 << 10, cache: 150 << 10, timeout: 5 * time.Minute, pause: 250 * time.Millisecond,
	}
	if *long {
		f.sessions, f.rounds, f.writers = *manyOf, *manyTimes, 32
		f.garbage, f.cache, f.sync = 4<<20, 32<<20, time.Minute
		f.timeout, f.pause = 10*time.Minute, time.Second
	} else {
		t.Parallel()
	}
	newToil(t, f).run(t)
}

// TestClusterDisksStayBounded is the same for three servers that each have a copy,
// with fewer sessions. After a slow survey of a shard, the next one is not before twenty times as
// long, so a round can take minutes on a busy machine.
func TestClusterDisksStayBounded(t *testing.T) {
	t.Parallel()
	f := workload{
		sessions: 8, rounds: 4, growing: 2, writers: 4, line: 1500, minTail: 4 << 10,
		garbage: 16 << 10, cache: 64 << 10, timeout: 5 * time.Minute, pause: 250 * time.Millisecond,
	}
	if *long {
		f.sessions, f.rounds, f.garbage, f.timeout = 200, 12, 100<<10, 5*time.Minute
	}
	servers := embeddedtest.StartCluster(t, 3)
	newToilOn(t, f, servers...).run(t)
}

// run writes round by round, and checks the bounds after each.
func (w *toil) run(t *testing.T) {
	t.Helper()
	for round := range w.f.rounds {
		start := time.Now()
		w.write(t, round)
		if err := w.mat.CatchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
		wrote := time.Since(start)
		w.settle(t, round)
		w.report(t, round, wrote, time.Since(start)-wrote)
	}
	size, put := w.size(t), w.put.put.Load()
	t.Logf("%d sessions of %d bytes; %d bytes were appended, %d went to object storage: %.2f times their size, %.2f times what was appended",
		w.f.sessions, size, w.appended.Load(), put, float64(put)/float64(size), float64(put)/float64(w.appended.Load()))
	if put > 6*w.appended.Load() {
		t.Errorf("%d bytes were put for %d that were appended", put, w.appended.Load())
	}
}

// settle waits until the log and its files have shrunk, and the cache keeps its
// limit.
func (w *toil) settle(t *testing.T, round int) {
	t.Helper()
	deadline := time.Now().Add(w.f.timeout)
	for {
		why := w.exceeded(t)
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("round %d: %s", round, why)
		}
		time.Sleep(w.f.pause)
	}
}

// blockSize is the size of a file of JetStream. Messages deleted in it take disk
// space until the file is dropped.
const blockSize = 8 << 20

// exceeded says which bound is exceeded, "" if none: each shard has at most twice
// its live bytes and the allowance, the files of each server at most twice the live
// bytes, the allowances and a block for each shard, the cache its limit. Live bytes
// do not grow with what was ever written.
func (w *toil) exceeded(t *testing.T) string {
	t.Helper()
	w.live, w.held = 0, 0
	for shard := range w.log.Shards() {
		if _, err := w.mat.Truncate(t.Context(), shard); err != nil {
			t.Fatal(err)
		}
		st, err := w.log.State(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		needed, _, err := w.mat.Survey(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		if most := 2*needed + w.f.garbage; int64(st.Bytes) > most+most/50 { // sizes are estimates
			return fmt.Sprintf("shard %d has %d bytes, %d of which are needed", shard, st.Bytes, needed)
		}
		w.live, w.held = w.live+needed, w.held+int64(st.Bytes)
	}
	if most := int64(w.f.sessions) * w.f.tail(); w.live > most {
		return fmt.Sprintf("%d bytes are needed of %d sessions, for which %d would do", w.live, w.f.sessions, most)
	}
	w.files = w.onDisk()
	if most := 2*w.live + int64(w.log.Shards())*(w.f.garbage+blockSize); w.files > most {
		return fmt.Sprintf("a server's files take %d bytes, %d would do", w.files, most)
	}
	if _, size, limit := w.cache.Stats(); size > limit {
		return fmt.Sprintf("the cache has %d bytes, and was given %d", size, limit)
	}
	return ""
}

// report logs sizes, and how long sessions take to open.
func (w *toil) report(t *testing.T, round int, wrote, settled time.Duration) {
	t.Helper()
	if round == 0 {
		t.Logf("MiB; the cache may take %.1f, the log beside twice what is live %.1f for garbage, its files %.1f more",
			mib(w.f.cache), mib(int64(w.log.Shards())*w.f.garbage), mib(int64(w.log.Shards())*blockSize))
		t.Log("round  appended   live    log  to live  files  cache   heap   open p50     p99   wrote settled")
	}
	inUse := heapInUse()
	_, inMemory, _ := w.cache.Stats()
	p50, p99 := w.openings(t)
	t.Logf("%5d %9.1f %6.1f %6.1f %8.2f %6.1f %6.1f %6.1f %10s %7s %7s %7s", round, mib(w.appended.Load()), mib(w.live), mib(w.held),
		float64(w.held)/float64(w.live), mib(w.files), mib(inMemory), mib(inUse),
		p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), wrote.Round(time.Second), settled.Round(time.Second))
	w.forget(t, round, inUse)
}

// forget waits until the process uses no more memory than allowed for the node, its
// server and its writers, without the objects. The server keeps messages that were
// read for some seconds.
func (w *toil) forget(t *testing.T, round int, inUse int64) {
	t.Helper()
	if !*long {
		return // other tests run in the process
	}
	most := 2*w.f.cache + heapBeside + int64(w.f.sessions)*heapForEach
	for deadline := time.Now().Add(w.f.timeout); inUse > most; inUse = heapInUse() {
		if time.Now().After(deadline) {
			t.Fatalf("round %d: %d bytes of memory are in use, %d would do", round, inUse, most)
		}
		time.Sleep(w.f.pause)
	}
}

// heapInUse returns the bytes of memory that the process uses.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory of a process besides its cached sessions: a fixed part (a block of
// each shard that is written and one that is read, and encoders), and a part per
// session (its subject in the server, its row's number).
const (
	heapBeside  = 96 << 20
	heapForEach = 4 << 10
)

func mib(n int64) float64 { return float64(n) / (1 << 20) }
