package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestTruncateKeepsNeededRecords(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	var open []*engine.Session
	for i := range 6 {
		s := create(t, ss, logtest.NewID(), entry("root", ""))
		for j := range 3 {
			mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("m", j)))
		}
		if i%2 == 0 {
			checkpoint(t, s, b)
		}
		open = append(open, s)
	}
	claim(t, open[1], core.ClaimRequest{Agent: "me"})
	before, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[core.SessionID]*core.State{}
	for _, s := range open {
		want[s.ID()] = state(t, s)
	}
	upTo := before.Last - 2 // among the last sessions
	take := func(ctx context.Context, s *engine.Session) error { return tryCheckpoint(ctx, s, b) }
	if err := ss.Truncate(t.Context(), l, 0, upTo, take); err != nil {
		t.Fatal(err)
	}
	after, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.First != upTo+1 || after.Sessions != before.Sessions {
		t.Errorf("the shard begins at %d, with %d sessions", after.First, after.Sessions)
	}
	for _, s := range open {
		fresh, err := node(l, b).Open(t.Context(), s.ID())
		if err != nil {
			t.Fatal(err)
		}
		testkit.Equal(t, "entries", ids(want[s.ID()]), ids(state(t, fresh)))
		testkit.Equal(t, "heads", want[s.ID()].Heads[core.MainHead].Claim, state(t, fresh).Heads[core.MainHead].Claim)
		if state(t, s).Heads[core.MainHead].Claim == nil { // one that stayed open continues
			mustAppend(t, s, core.MainHead, "", message("later"))
		}
	}
}

func TestUnreadableSessionBlocksTruncate(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, logtest.NewID(), entry("root", ""))
	failed := errors.New("no snapshot today")
	err := ss.Truncate(t.Context(), l, 0, 1, func(context.Context, *engine.Session) error { return failed })
	testkit.WantErr(t, err, failed)
	if _, err := node(l, b).Open(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
}

// A follower that was away for long does not skip records that it never received.
func TestFollowerReportsTruncatedPosition(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, logtest.NewID(), entry("root", ""))
	place, have := state(t, s).Pos, state(t, s).Cursor()
	for i := range 3 {
		mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("m", i)))
	}
	upTo := state(t, s).Pos
	take := func(ctx context.Context, s *engine.Session) error { return tryCheckpoint(ctx, s, b) }
	if err := ss.Truncate(t.Context(), l, 0, upTo-1, take); err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range engine.Chained(t.Context(), full(l), s.ID(), place, have, l.Read(t.Context(), s.ID(), place, upTo)) {
		if err == nil {
			t.Fatalf("got record %d after record 1", r.Seq)
		}
		testkit.WantErr(t, err, core.ErrLost)
		n++
	}
	testkit.Equal(t, "answers", 1, n)
}

// erase writes the record that ends a session.
func erase(t *testing.T, l core.Log, s *engine.Session) {
	t.Helper()
	if err := s.Delete(t.Context(), core.Notice{}); err != nil {
		t.Fatal(err)
	}
	force(t, l, s, core.KindErase, `{"by":"somebody","reason":"asked to"}`)
}

func TestErasureRecordSurvivesTruncation(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, "session1", entry("root", ""))
	erase(t, l, s)
	want, err := l.Last(t.Context(), "session1")
	if err != nil {
		t.Fatal(err)
	}
	take := func(ctx context.Context, s *engine.Session) error { return tryCheckpoint(ctx, s, b) }
	for round := range 3 {
		create(t, ss, logtest.NewID(), entry("root", ""))
		st, err := l.State(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := ss.Truncate(t.Context(), l, 0, st.Last, take); err != nil {
			t.Fatal(err)
		}
		last, err := l.Last(t.Context(), "session1")
		if err != nil {
			t.Fatal(err)
		}
		if last.Kind != core.KindErase || string(last.Body) != string(want.Body) || last.Seq != want.Seq+uint64(round)+1 {
			t.Errorf("round %d: the last record is %s %d: %s", round, last.Kind, last.Seq, last.Body)
		}
		_, err = node(l, b).Open(t.Context(), "session1")
		testkit.WantErr(t, err, core.ErrDeleted)
		_, err = ss.Create(t.Context(), birth(t, "session1"))
		testkit.WantErr(t, err, core.ErrExists)
		in, err := ss.Inspect(t.Context(), "session1")
		if err != nil || len(in.Faults)+len(in.Orphans) > 0 {
			t.Errorf("round %d: Inspect reports faults %v, orphans %v: %v", round, in.Faults, in.Orphans, err)
		}
	}
	testkit.Equal(t, "records", 1, len(records(t, l, "session1")))
}

// The brokers of a log with delayed flushes may lose an acknowledged checkpoint, but
// dropped records stay dropped.
func TestTruncateWithDelayedFlushProvesAgain(t *testing.T) {
	t.Parallel()
	l, _, b := inMemory()
	ss := engine.NewSessions(engine.Config{
		Log: full(l), Blobs: b, Snapshots: b, Dialects: dialect.All(), Host: "host",
		FlushEvery: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	s := create(t, ss, "session1", entry("root", ""))
	mustAppend(t, s, core.MainHead, "", message("m"))
	p := &prefix{ids: []core.SessionID{"session1"}}
	wrote := time.Time{}
	take := func(ctx context.Context, s *engine.Session) error {
		wrote = time.Now()
		return tryCheckpoint(ctx, s, b)
	}
	if err := ss.Truncate(t.Context(), p, 0, state(t, s).Pos, take); err != nil {
		t.Fatal(err)
	}
	// One check, and another a while later without a write in between: all is flushed.
	testkit.Equal(t, "looks", 2, p.looks)
	if p.dropped.Sub(wrote) < 40*time.Millisecond {
		t.Errorf("dropped %v after the checkpoint", p.dropped.Sub(wrote))
	}
}

// A prefix counts the lookups.
type prefix struct {
	ids     []core.SessionID
	looks   int
	dropped time.Time
}

func (p *prefix) SessionsUpTo(context.Context, int, core.Pos) ([]core.SessionID, error) {
	p.looks++
	return p.ids, nil
}

func (p *prefix) Drop(context.Context, int, core.Pos) error {
	p.dropped = time.Now()
	return nil
}
