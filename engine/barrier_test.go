package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// cutOff is a log as seen through a partitioned leader: it keeps returning its last
// known state and proves nothing.
type cutOff struct {
	*memlog.Log
	mu    sync.Mutex
	knows *core.Record // nil for all records
	asked atomic.Int64 // proofs
}

func (l *cutOff) cut(r *core.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.knows = r
}

func (l *cutOff) known() *core.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.knows
}

func (l *cutOff) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	if r := l.known(); r != nil {
		return r, nil
	}
	return l.Log.Last(ctx, id)
}

func (l *cutOff) Prove(ctx context.Context, id core.SessionID, last core.Pos) error {
	l.asked.Add(1)
	if l.known() != nil {
		return fmt.Errorf("no quorum: %w", core.ErrUnavailable)
	}
	return l.Log.Prove(ctx, id, last)
}

func TestPartitionedLeaderDoesNotAnswerStrictReads(t *testing.T) {
	t.Parallel()
	l := &cutOff{Log: memlog.New("test")}
	b := streamtest.NewBlobs()
	here, elsewhere := node(l, b), node(l.Log, b)
	s := create(t, here, "session1", entry("root", ""))
	old, err := l.Log.Last(t.Context(), "session1")
	if err != nil {
		t.Fatal(err)
	}
	l.cut(old)
	rec := mustAppend(t, open(t, elsewhere, "session1"), core.MainHead, "", message("a"))

	if err := s.Refresh(t.Context()); err != nil || len(state(t, s).Entries) != 1 {
		t.Fatalf("the test needs a leader that answers too low: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	testkit.WantErr(t, s.RefreshStrict(ctx), core.ErrUnavailable)
	err = s.WaitFor(ctx, rec.Cursor)
	testkit.WantErr(t, err, core.ErrUnavailable)
	if errors.Is(err, core.ErrLost) {
		t.Error("a record on another replica was reported as lost")
	}

	l.cut(nil)
	if err := s.RefreshStrict(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "entries", []string{"root", "a"}, ids(state(t, s)))
}

func TestStrictReadersShareABarrier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &cutOff{Log: memlog.New("test")}
		ss := node(l, streamtest.NewBlobs())
		s := create(t, ss, "session1", entry("root", ""))
		old, _ := l.Log.Last(t.Context(), "session1")
		l.cut(old)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if err := s.RefreshStrict(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all have begun, and wait
		before := l.asked.Load()
		l.cut(nil)
		wg.Wait()
		if n := l.asked.Load() - before; n > 20 {
			t.Errorf("%d proofs for 100 concurrent readers", n)
		}
	})
}

func TestStrictReadSeesAcknowledgedAppends(t *testing.T) {
	t.Parallel()
	mem := memlog.New("test")
	faults := logtest.Faults{Seed: 1, Busy: .1, Stale: .3, Short: .1, Conflicts: .1, Lost: .1, Dropped: .05}
	b := streamtest.NewBlobs()
	writer := open(t, node(mem, b), create(t, node(mem, b), "session1", entry("root", "")).ID())
	reader := open(t, node(mem, b), "session1")
	_ = reader
	faulty := node(logtest.Faulty(mem, faults), b)
	strict, err := faulty.Open(t.Context(), "session1")
	for errors.Is(err, core.ErrUnavailable) {
		strict, err = faulty.Open(t.Context(), "session1")
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		rec := mustAppend(t, writer, core.MainHead, "", message(fmt.Sprint("m", i)))
		if err := strict.RefreshStrict(t.Context()); err != nil {
			t.Fatal(err)
		}
		if have := state(t, strict).Cursor(); have.Seq < rec.Cursor.Seq {
			t.Fatalf("the strict read is at %s, but %s was acknowledged", have, rec.Cursor)
		}
	}
}

func TestWaitForReturnsOnceTheRecordArrivesOrIsLost(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	other := open(t, node(l, b), "session1")
	var cursors []core.Cursor
	for i := range 100 { // more than a session keeps
		cursors = append(cursors, mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("m", i))).Cursor)
	}
	for _, c := range []core.Cursor{{}, cursors[0], cursors[50], cursors[98], cursors[99]} {
		if err := other.WaitFor(t.Context(), c); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	forged := cursors[50]
	forged.Chain[0]++
	old := cursors[0]
	old.Chain[0]++
	for _, c := range []core.Cursor{forged, old, {Seq: 101, Chain: forged.Chain}, {Seq: 1 << 60}} {
		testkit.WantErr(t, other.WaitFor(t.Context(), c), core.ErrLost)
	}
}

// Barriers are stored in the record streams but belong to no session.
func TestBarriersAreNotCountedAsRecords(t *testing.T) {
	for name, start := range map[string]func(*testing.T) []*stream.Log{
		"R1": func(t *testing.T) []*stream.Log {
			return []*stream.Log{streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1})}
		},
		"R3": func(t *testing.T) (ls []*stream.Log) {
			if testing.Short() {
				t.Skip("three servers; not with -short")
			}
			for _, s := range embeddedtest.StartCluster(t, 3) {
				ls = append(ls, streamtest.Open(t, streamtest.Connect(t, s), stream.LogConfig{Shards: 1, Replicas: 3, AckWait: 5 * time.Second}))
			}
			return ls
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := start(t)
			b := streamtest.NewBlobs()
			s := create(t, node(logs[0], b), "session1", entry("root", ""))
			reader := open(t, node(logs[len(logs)-1], b), "session1")
			for i := range 10 {
				rec := mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("m", i)))
				if err := reader.RefreshStrict(t.Context()); err != nil {
					t.Fatal(err)
				}
				testkit.Equal(t, "cursor", rec.Cursor, state(t, reader).Cursor())
			}
			if err := node(logs[0], b).ProveAbsent(t.Context(), "session2"); err != nil {
				t.Error(err)
			}
			testkit.WantErr(t, node(logs[0], b).ProveAbsent(t.Context(), "session1"), core.ErrConflict)
			st, err := logs[0].State(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if st.Messages != 11 || st.Sessions != 1 || st.Last != 22 {
				t.Errorf("the shard state is %+v", st)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			records, end := 0, core.Pos(0)
			for ch, err := range logs[0].Watch(ctx, 0, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if ch.Session != "" {
					records++
				}
				if end = ch.Pos; end == st.Last {
					break
				}
			}
			testkit.Equal(t, "records watched", 11, records)
		})
	}
}

func TestFullLogRejectsStrictReadsAndServesPlainReads(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	l := streamtest.Open(t, nc, stream.LogConfig{Shards: 1, MaxBytes: 64 << 10, Blobs: b})
	s := create(t, node(l, b), "session1", entry("root", ""))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // messages of no session fill the rest
		_, err = js.Publish(t.Context(), "sess.main.00.~fill", []byte(strings.Repeat("x", 100)))
	}
	testkit.WantErr(t, s.RefreshStrict(t.Context()), core.ErrFull)
	if err := s.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
}
