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

// forever is how much is written, and what may lie there.
type forever struct {
	sessions, rounds, writers int
	growing                   int // rounds in which sessions grow; in the others they are rewritten
	line, minTail             int // bytes
	garbage, cache            int64
	sync                      time.Duration // how late the server flushes; 0 for not at all
	patience, pause           time.Duration // for the log to be small again, and between two looks at it
}

// linesARound is how many lines a session gets, or gets anew, in a round.
const linesARound = 3

// size is about how large a session becomes.
func (f forever) size() int64 { return int64(f.growing*linesARound*(f.line+200) + 200) }

// tail is how much a session may have in the log that no snapshot covers: what
// makes a snapshot due, what comes before it is taken, and what the records take
// beside their lines, checkpoints among them.
func (f forever) tail() int64 {
	return max(int64(f.minTail), f.size()) + 2*int64(linesARound*(f.line+200)) + 4<<10
}

// TestDiskAndMemoryStayBounded writes to sessions:
// first lines are appended, then lines that are there replaced, for ever. With
// -long there are 10,000 of them, and some 130,000 records; that needs a -timeout
// of its own:
//
//	go test ./materializer -run DiskAndMemory -v -timeout 60m -args -long
//
// How often the server flushes is nothing that this is about, so then it does so
// late: a flush for each record would be most of the time.
func TestDiskAndMemoryStayBounded(t *testing.T) {
	f := forever{
		sessions: 24, rounds: 8, growing: 3, writers: 8, line: 1500, minTail: 8 << 10,
		garbage: 50 << 10, cache: 150 << 10, patience: 2 * time.Minute, pause: 5 * time.Millisecond,
	}
	if *long {
		f.sessions, f.rounds, f.writers = *manyOf, *manyTimes, 32
		f.garbage, f.cache, f.sync = 4<<20, 32<<20, time.Minute
		f.patience, f.pause = 10*time.Minute, time.Second
	} else {
		t.Parallel()
	}
	newToil(t, f).goOn(t)
}

// TestClusterDisksStayBounded is the same of three servers that each have a
// copy, with fewer sessions.
func TestClusterDisksStayBounded(t *testing.T) {
	t.Parallel()
	f := forever{
		sessions: 8, rounds: 4, growing: 2, writers: 4, line: 1500, minTail: 4 << 10,
		garbage: 16 << 10, cache: 64 << 10, patience: 2 * time.Minute, pause: 5 * time.Millisecond,
	}
	if *long {
		f.sessions, f.rounds, f.garbage, f.patience = 200, 12, 100<<10, 2*time.Minute
	}
	servers := embeddedtest.StartCluster(t, 3)
	newToilOn(t, f, servers...).goOn(t)
}

// goOn writes, round by round, and looks what there is after each.
func (w *toil) goOn(t *testing.T) {
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

// settle waits until the log and its files are as small as they have to be, and
// the cache keeps its bound.
func (w *toil) settle(t *testing.T, round int) {
	t.Helper()
	deadline := time.Now().Add(w.f.patience)
	for {
		why := w.tooMuch(t)
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("round %d: %s", round, why)
		}
		time.Sleep(w.f.pause)
	}
}

// blockSize is the size of a file of JetStream's. What is dropped in the midst of
// one leaves the disk with the rest of it.
const blockSize = 8 << 20

// tooMuch says what there is too much of, "" for nothing: each shard has twice
// what is live and the allowance at most, the files of each server twice what is
// live, the allowances and a block for each shard, the cache what it was given.
// And what is live does not grow with what was ever written.
func (w *toil) tooMuch(t *testing.T) string {
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

// report says what there is, and how long sessions take to open.
func (w *toil) report(t *testing.T, round int, wrote, settled time.Duration) {
	t.Helper()
	if round == 0 {
		t.Logf("MiB; the cache may take %.1f, the log beside twice what is live %.1f for garbage, its files %.1f more",
			mib(w.f.cache), mib(int64(w.log.Shards())*w.f.garbage), mib(int64(w.log.Shards())*blockSize))
		t.Log("round  appended   live    log  to live  files  cache   heap   open p50     p99   wrote settled")
	}
	inUse := memory()
	_, inMemory, _ := w.cache.Stats()
	p50, p99 := w.openings(t)
	t.Logf("%5d %9.1f %6.1f %6.1f %8.2f %6.1f %6.1f %6.1f %10s %7s %7s %7s", round, mib(w.appended.Load()), mib(w.live), mib(w.held),
		float64(w.held)/float64(w.live), mib(w.files), mib(inMemory), mib(inUse),
		p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond), wrote.Round(time.Second), settled.Round(time.Second))
	w.forget(t, round, inUse)
}

// forget waits until the process has no more in memory than it may: the node, its
// server and its writers, but not the objects. The server keeps what was read of
// the log for some seconds, and it was just read from end to end.
func (w *toil) forget(t *testing.T, round int, inUse int64) {
	t.Helper()
	if !*long {
		return // others are in the process
	}
	most := 2*w.f.cache + heapBeside + int64(w.f.sessions)*heapForEach
	for deadline := time.Now().Add(w.f.patience); inUse > most; inUse = memory() {
		if time.Now().After(deadline) {
			t.Fatalf("round %d: %d bytes of memory are in use, %d would do", round, inUse, most)
		}
		time.Sleep(w.f.pause)
	}
}

// memory is how many bytes of memory the process has in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What a process has in memory beside the sessions that it keeps: fixed (a block of
// each shard that is written and one that is read, and packers), and for each
// session that there is (its subject in the server, its row's number).
const (
	heapBeside  = 96 << 20
	heapForEach = 4 << 10
)

func mib(n int64) float64 { return float64(n) / (1 << 20) }
