package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// seeds is the number of random histories per test. SESS_SEEDS sets more.
func seeds(n int) int {
	if more, err := strconv.Atoi(os.Getenv("SESS_SEEDS")); err == nil {
		return more
	}
	return n
}

// Writers run on several nodes over a log that loses requests and answers, delays
// requests, rejects at random and returns stale reads. Promises P1 to P4 hold for the
// resulting log.
func TestPromisesHoldUnderFaults(t *testing.T) {
	for seed := range seeds(40) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				play(t, memlog.New("test"), uint64(seed), 25)
			})
		})
	}
}

func TestPromisesHoldUnderFaultsOnAServer(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{})
	for seed := range seeds(3) {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			play(t, l, uint64(seed), 12)
		})
	}
}

func TestPromisesHoldUnderFaultsOnACluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers; not with -short")
	}
	b := streamtest.NewBlobs()
	var logs []core.Log
	for _, s := range embeddedtest.StartCluster(t, 3) {
		logs = append(logs, streamtest.Open(t, streamtest.Connect(t, s), stream.LogConfig{Replicas: 3, Shards: 1, Blobs: b, AckWait: 5 * time.Second}))
	}
	playOn(t, logs, 1, 10)
}

// A history is what several writers did to one session, and the answers that they got.
type history struct {
	id    core.SessionID
	blobs *streamtest.Blobs
	nodes []*engine.Session

	mu      sync.Mutex
	outcome map[string]error // by entry: the last answer to its writer, nil for stored
}

func play(t *testing.T, l core.Log, seed uint64, steps int) {
	t.Helper()
	playOn(t, []core.Log{l, l, l}, seed, steps)
}

// playOn lets two writers on each node take random steps, and then checks the log.
func playOn(t *testing.T, logs []core.Log, seed uint64, steps int) {
	t.Helper()
	h := &history{id: logtest.NewID(), blobs: streamtest.NewBlobs(), outcome: map[string]error{}}
	create(t, node(logs[0], h.blobs), h.id, entry("root", ""))
	var faulty []*logtest.FaultyLog
	for i, l := range logs {
		f := logtest.Faulty(l, logtest.Faults{
			Seed: seed<<8 + uint64(i), Lost: 0.1, Dropped: 0.05, Late: 0.08, Conflicts: 0.05,
			Busy: 0.03, Stale: 0.1, Short: 0.2, Delay: 3 * time.Millisecond,
		})
		faulty = append(faulty, f)
		s := open(t, node(l, h.blobs), h.id) // before the faults begin
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		s, err := openThrough(t.Context(), node(f, h.blobs), h.id)
		if err != nil {
			t.Fatal(err)
		}
		h.nodes = append(h.nodes, s)
	}
	var wg sync.WaitGroup
	for i := range 2 * len(logs) {
		w := &writer{h: h, name: fmt.Sprintf("w%d", i), rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		wg.Go(func() {
			for range steps {
				w.step(t.Context())
			}
		})
	}
	wg.Wait()
	for _, f := range faulty {
		f.Settle()
	}
	h.judge(t, logs)
}

// openThrough opens a session through a log with faults.
func openThrough(ctx context.Context, ss *engine.Sessions, id core.SessionID) (*engine.Session, error) {
	for {
		s, err := ss.Open(ctx, id)
		if err == nil || !errors.Is(err, core.ErrUnavailable) {
			return s, err
		}
	}
}

type writer struct {
	h     *history
	name  string
	rand  *rand.Rand
	n     int
	head  string // of its claim
	claim string // its writer, empty if there is none
}

func (w *writer) node() *engine.Session { return w.h.nodes[w.rand.IntN(len(w.h.nodes))] }

func (w *writer) step(ctx context.Context) {
	switch n := w.rand.IntN(100); {
	case n < 70:
		w.append(ctx)
	case n < 80:
		w.head = []string{core.MainHead, "side"}[w.rand.IntN(2)]
		c, _, err := w.node().Claim(ctx, core.ClaimRequest{Head: w.head, Agent: w.name, TakeOver: w.rand.IntN(2) == 0})
		if w.claim = ""; err == nil {
			w.claim = c.Writer
		}
	case n < 86 && w.claim != "":
		if w.node().Release(ctx, w.head, w.claim, core.Notice{By: w.name}) == nil {
			w.claim = ""
		}
	case n < 90:
		_ = w.node().Move(ctx, w.name, "", core.LeafAt("root"))
	case n < 96:
		_ = tryCheckpoint(ctx, w.node(), w.h.blobs)
	default:
		_ = w.node().Finish(ctx, core.Notice{By: w.name})
	}
}

// append sends a few lines and retries on any node until the outcome is definite.
func (w *writer) append(ctx context.Context) {
	a := engine.Append{Head: core.MainHead}
	if w.claim != "" {
		a.Head, a.Writer = w.head, w.claim
	} else if w.rand.IntN(3) == 0 {
		a.Head = w.name // a separate head
	}
	var mine []string
	for range 1 + w.rand.IntN(3) {
		w.n++
		mine = append(mine, fmt.Sprintf("%s-%d", w.name, w.n))
		a.Lines = append(a.Lines, []byte(`{"type":"message","message":{"role":"user","content":"`+mine[len(mine)-1]+`"}}`))
	}
	a.ID = func(i int) string { return mine[i] }
	for {
		_, err := w.node().Append(ctx, a)
		w.h.tell(mine, err)
		if errors.Is(err, core.ErrFenced) {
			w.claim = ""
		}
		if !errors.Is(err, core.ErrUncertain) && !errors.Is(err, core.ErrUnavailable) {
			return
		}
	}
}

func (h *history) tell(ids []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.outcome[id] = err
	}
}

// judge reads the session's records from every log and checks the promises.
func (h *history) judge(t *testing.T, logs []core.Log) {
	t.Helper()
	rs := records(t, logs[0], h.id)
	want := folded(t, logs[0], h.id, rs) // one chain without a gap
	h.judgeLines(t, rs)
	judgeFencing(t, rs)
	for i, l := range logs {
		s := open(t, node(l, h.blobs), h.id)
		sameState(t, fmt.Sprintf("opened on node %d", i), want, state(t, s))
	}
	for i, s := range h.nodes {
		for s.Refresh(t.Context()) != nil || state(t, s).Seq < want.Seq {
			if t.Context().Err() != nil {
				t.Fatalf("node %d lags", i)
			}
		}
		sameState(t, fmt.Sprintf("kept by node %d", i), want, state(t, s))
	}
}

// judgeLines checks that acknowledged lines are stored once, that rejected lines are
// not stored, and that every parent precedes its child.
func (h *history) judgeLines(t *testing.T, rs []*core.Record) {
	t.Helper()
	times := map[string]int{"root": 1}
	for _, r := range rs {
		if r.Kind != core.KindAppend {
			continue
		}
		for line := range bytes.SplitSeq(r.Body, []byte("\n")) {
			e, err := pi.Dialect{}.Entry(line)
			if err != nil {
				t.Fatal(err)
			}
			if e.Parent != "" && times[e.Parent] == 0 {
				t.Errorf("the parent of %s, %s, is not before it", e.ID, e.Parent)
			}
			times[e.ID]++
		}
	}
	stored := 0
	for id, err := range h.outcome {
		switch n := times[id]; {
		case n > 1:
			t.Errorf("entry %s is stored %d times", id, n)
		case err == nil && n == 0:
			t.Errorf("entry %s was acknowledged but is not stored", id)
		case err != nil && n > 0:
			t.Errorf("entry %s is stored, but its writer got %v", id, err)
		}
		stored += times[id]
	}
	if want := len(h.outcome); stored == 0 || len(times) > want+1 {
		t.Errorf("%d entries are stored of %d sent", stored, want)
	}
}

// judgeFencing checks that only the holder writes to a held head, and that no writer
// continues from a claim that ended.
func judgeFencing(t *testing.T, rs []*core.Record) {
	t.Helper()
	holder, over := map[string]string{}, map[string]bool{}
	for _, r := range rs {
		switch r.Kind {
		case core.KindClaim:
			over[holder[r.Head]] = true
			holder[r.Head] = r.Writer
		case core.KindRelease:
			if holder[r.Head] == r.Writer {
				over[r.Writer], holder[r.Head] = true, ""
			}
		case core.KindAppend, core.KindHead:
			if by := holder[r.Head]; by != "" && by != r.Writer {
				t.Errorf("record %d: %s wrote to head %s, which %s holds", r.Seq, r.Writer, r.Head, by)
			}
			if over[r.Writer] {
				t.Errorf("record %d: %s wrote to head %s after its claim ended", r.Seq, r.Writer, r.Head)
			}
		}
	}
}
