package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// all returns the session's entries and the heads that are not main.
func all(t *testing.T, s *engine.Session) (entries []string, others []string) {
	t.Helper()
	st := state(t, s)
	return ids(st), st.HeadNames()[1:]
}

func TestLostTailIsStoredAgain(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*engine.Session) error{
		"a writer": func(s *engine.Session) error {
			_, err := appendLines(context.Background(), s, message("next"))
			return err
		},
		"a reader": func(s *engine.Session) error { return s.Refresh(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, ss, b := inMemory()
			id := logtest.NewID()
			s := create(t, ss, id, entry("a", ""))
			mine := claim(t, s, core.ClaimRequest{Agent: "me"})
			mustAppend(t, s, core.MainHead, mine.Writer, message("b"))
			checkpoint(t, s, b)
			mustAppend(t, s, core.MainHead, mine.Writer, message("c"))
			if err := s.Release(t.Context(), core.MainHead, mine.Writer, core.Notice{}); err != nil {
				t.Fatal(err)
			}
			want := state(t, s)
			l.Forget(4) // the release, c, the checkpoint, b
			if err := back(s); err != nil {
				t.Fatal(err)
			}
			got := state(t, open(t, node(l, b), id))
			if got.Chain != want.Chain && got.Seq == want.Seq {
				t.Error("the repaired records differ from the lost ones")
			}
			testkit.Equal(t, "entries", []string{"a", "b", "c"}, ids(got)[:3])
			testkit.Equal(t, "repaired records", report.Losses{Rewritten: 4}, ss.Losses())
			for _, r := range records(t, l, id) {
				if lost := r.Seq >= 3 && r.Seq <= 6; r.Redo != lost {
					t.Errorf("record %d: repaired is %v", r.Seq, r.Redo)
				}
			}
		})
	}
}

func TestEmptiedLogIsRepaired(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	l.Forget(2)
	mustAppend(t, s, core.MainHead, "", message("c"))
	testkit.Equal(t, "entries", []string{"a", "b", "c"}, ids(state(t, open(t, node(l, b), id))))
}

func TestConcurrentRepairsStoreLostTailOnce(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	other := open(t, node(l, b), id)
	for i := range 5 {
		mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("b", i)))
	}
	if err := other.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Forget(4)
	done := make(chan error)
	for _, one := range []*engine.Session{s, other} {
		go func() { done <- one.Refresh(context.Background()) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if n := len(records(t, l, id)); n != 6 {
		t.Errorf("%d records, want 6", n)
	}
	sameState(t, "the other", state(t, s), state(t, other))
}

func TestLostLinesGoToSeparateHeadAfterAnotherWriter(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mine := claim(t, s, core.ClaimRequest{Agent: "me"})
	mustAppend(t, s, core.MainHead, mine.Writer, message("b"), message("c"))
	l.Forget(2) // the append and the claim
	other := open(t, node(l, b), id)
	mustAppend(t, other, core.MainHead, "", message("d"))

	_, err := s.Append(t.Context(), engine.Append{Writer: mine.Writer, Lines: rawLines([]string{message("e")})})
	testkit.WantErr(t, err, core.ErrFenced) // the log lost the claim, and another writer has continued

	got := open(t, node(l, b), id)
	entries, heads := all(t, got)
	testkit.Equal(t, "entries", []string{"a", "d", "b", "c"}, entries)
	testkit.Equal(t, "heads", []string{"stray-" + mine.Writer}, heads)
	testkit.Equal(t, "main points to d", true, state(t, got).Leaf(core.MainHead) == core.LeafAt("d"))
	testkit.Equal(t, "the other heads point to c", true, state(t, got).Leaf(heads[0]) == core.LeafAt("c"))
	testkit.Equal(t, "lines", report.Losses{Rescued: 2}, ss.Losses())
}

func TestLostLinesReturnWithRestoredSession(t *testing.T) {
	t.Parallel()
	for name, undelete := range map[string]func(s, other *engine.Session) error{
		"by itself":    func(s, _ *engine.Session) error { return s.Undelete(context.Background(), core.Notice{}) },
		"by the other": func(_, other *engine.Session) error { return other.Undelete(context.Background(), core.Notice{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, ss, b := inMemory()
			id := logtest.NewID()
			s := create(t, ss, id, entry("a", ""))
			mustAppend(t, s, core.MainHead, "", message("b"))
			l.Forget(1)
			other := open(t, node(l, b), id)
			noErr(t, other.Delete(t.Context(), core.Notice{By: "other"}))

			noErr(t, s.Refresh(t.Context()))
			noErr(t, s.Refresh(t.Context()))
			entries, _ := all(t, s)
			testkit.Equal(t, "entries in the trash", []string{"a"}, entries)
			testkit.Equal(t, "missing lines", report.Losses{Pending: 1}, ss.Losses())
			testkit.Equal(t, "it owes", true, s.HasPendingRepair())

			noErr(t, undelete(s, other))
			noErr(t, s.Refresh(t.Context()))
			entries, heads := all(t, open(t, node(l, b), id))
			testkit.Equal(t, "entries", []string{"a", "b"}, entries)
			testkit.Equal(t, "separate heads", 1, len(heads))
			testkit.Equal(t, "lines", report.Losses{Rescued: 1}, ss.Losses())
			noErr(t, s.Refresh(t.Context()))
			testkit.Equal(t, "lines, once", report.Losses{Rescued: 1}, ss.Losses())
		})
	}
}

// A writer that does not know of the loss appends after another record than the one it
// knows: its own record is an orphan.
func stray(t *testing.T, l *memlog.Log, ss *engine.Sessions, b *streamtest.Blobs) (id core.SessionID, s, other *engine.Session) {
	t.Helper()
	id = logtest.NewID()
	s = create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	l.Forget(1)
	other = open(t, node(l, b), id)
	mustAppend(t, other, core.MainHead, "", message("d")) // at the position of b
	mustAppend(t, s, core.MainHead, "", message("e"))     // this writer still knows b there
	return id, s, other
}

func TestOrphanIsSkippedAndItsLinesRecovered(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id, s, other := stray(t, l, ss, b)
	mustAppend(t, other, core.MainHead, "", message("f"))

	got := open(t, node(l, b), id)
	testkit.Equal(t, "orphans", 1, got.Orphans())
	entries, _ := all(t, got)
	testkit.Equal(t, "entries before", []string{"a", "d", "f"}, entries)
	if err := got.RecoverOrphans(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkpoint(t, got, b)
	testkit.Equal(t, "orphans after the checkpoint", 0, got.Orphans())
	again := open(t, node(l, b), id)
	testkit.Equal(t, "orphans that a new reader finds", 0, again.Orphans())
	entries, heads := all(t, again)
	testkit.Equal(t, "entries after", []string{"a", "d", "f", "e"}, entries)
	testkit.Equal(t, "heads", 1, len(heads))

	// The orphan's writer finds out, and stores the lines that only it knows.
	mustAppend(t, s, "mine", "", message("g"))
	entries, _ = all(t, open(t, node(l, b), id))
	testkit.Equal(t, "entries at the end", []string{"a", "d", "f", "e", "b", "g"}, entries)
}

func TestWriterWithOrphanHistoryWritesNoCheckpoint(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id, s, _ := stray(t, l, ss, b)
	mustAppend(t, s, core.MainHead, "", message("h")) // after its orphan, which it has not noticed yet
	checkpoint(t, s, b)
	entries, _ := all(t, open(t, node(l, b), id))
	for _, want := range []string{"a", "d"} {
		if !strings.Contains(strings.Join(entries, " "), want) {
			t.Errorf("%s was acknowledged and is hidden by an orphan checkpoint: %v", want, entries)
		}
	}
	entries, _ = all(t, s)
	testkit.Equal(t, "acknowledged and stored", 5, len(entries))
}

// The replica that serves the records lags, so it has only those that the writer knows.
func TestLaggingReplicaDoesNotConfirmCheckpoint(t *testing.T) {
	t.Parallel()
	l, _, b := inMemory()
	replica := &lagging{Log: l}
	id, s, _ := stray(t, l, node(replica, b), b)
	mustAppend(t, s, core.MainHead, "", message("h"))
	replica.has = 0
	checkpoint(t, s, b)
	entries, _ := all(t, open(t, node(l, b), id))
	testkit.Equal(t, "entries", []string{"a", "d", "b", "e", "h"}, entries)
}

// Between the proof and the record, the log loses b and stores d in its place, and a
// writer that knows b continues: its record follows what the checkpoint's writer knows.
func TestCheckpointIsVerifiedAgainAfterAnotherRecord(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	other := create(t, ss, id, entry("a", ""))
	mustAppend(t, other, core.MainHead, "", message("b"))
	late := &between{Log: l, kind: core.KindCheckpoint, do: func() {
		l.Forget(1)
		mustAppend(t, open(t, node(l, b), id), core.MainHead, "", message("d"))
		mustAppend(t, other, core.MainHead, "", message("e"))
	}}
	s := open(t, node(late, b), id)
	checkpoint(t, s, b)
	entries, _ := all(t, open(t, node(l, b), id))
	testkit.Equal(t, "entries", []string{"a", "d", "b", "e"}, entries)
}

func TestOrphanCheckpointIsNotABase(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	other := open(t, node(l, b), id)
	// Between the proof and the record, the log loses b and stores d in its place.
	late := &between{Log: l, do: func() {
		l.Forget(1)
		mustAppend(t, open(t, node(l, b), id), core.MainHead, "", message("d"))
	}}
	s = open(t, node(late, b), id)
	late.kind = core.KindCheckpoint
	checkpoint(t, s, b)
	if last, err := l.Last(t.Context(), id); err != nil || last.Kind != core.KindCheckpoint {
		t.Fatalf("the last record is %v, %v", last, err)
	}
	got := open(t, node(l, b), id)
	entries, _ := all(t, got)
	testkit.Equal(t, "entries", []string{"a", "d"}, entries)
	mustAppend(t, got, core.MainHead, "", message("e"))
	if err := other.Refresh(t.Context()); err != nil { // it reads b
		t.Fatal(err)
	}
	entries, _ = all(t, open(t, node(l, b), id))
	testkit.Equal(t, "entries at the end", []string{"a", "d", "e", "b"}, entries)
}

// between runs a function just before the first record of a kind is stored.
type between struct {
	core.Log
	kind core.Kind
	do   func()
}

func (l *between) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	if r.Kind == l.kind {
		l.kind = ""
		l.do()
	}
	return l.Log.Append(ctx, id, after, r)
}

func TestMissingRecordIsReported(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	mustAppend(t, s, core.MainHead, "", message("c"))
	_, err := node(&hole{Log: l, at: records(t, l, id)[1].Pos}, b).Open(t.Context(), id)
	if !errors.Is(err, core.ErrCorrupt) || !strings.Contains(err.Error(), "which does not exist") {
		t.Errorf("opened with %v", err)
	}
}

// hole is a log that cannot read one of its records.
type hole struct {
	core.Log
	at core.Pos
}

func (l *hole) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for r, err := range l.Log.Read(ctx, id, after, upTo) {
			if err == nil && r.Pos == l.at {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestFollowerSkipsOrphansAndReportsLoss(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id, _, other := stray(t, l, ss, b)
	mustAppend(t, other, core.MainHead, "", message("f"))
	last, err := l.Last(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for r, err := range engine.Chained(t.Context(), full(l), id, 0, core.Cursor{}, l.Read(t.Context(), id, 0, last.Pos)) {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, r.Seq)
	}
	testkit.Equal(t, "records", []uint64{1, 2, 3}, seqs)

	next, stop := iter.Pull2(engine.Chained(t.Context(), full(l), id, 0, core.Cursor{}, l.Follow(t.Context(), id, 0)))
	defer stop()
	for range 3 {
		if _, err, _ := next(); err != nil {
			t.Fatal(err)
		}
	}
	l.Forget(1)
	mustAppend(t, open(t, node(l, b), id), core.MainHead, "", message("g"))
	mustAppend(t, open(t, node(l, b), id), core.MainHead, "", message("h"))
	_, err, _ = next()
	testkit.WantErr(t, err, core.ErrLost)
}

// The record at the follower's position is another one: a writer stored it after the
// log lost the original.
func TestFollowerReportsReplacedRecord(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	place, have := state(t, s).Pos, state(t, s).Cursor()
	l.Forget(1)
	other := open(t, node(l, b), id)
	mustAppend(t, other, core.MainHead, "", message("c"))
	mustAppend(t, other, core.MainHead, "", message("d"))
	for r, err := range engine.Chained(t.Context(), full(l), id, place, have, l.Read(t.Context(), id, place, state(t, other).Pos)) {
		if err == nil {
			t.Fatalf("got record %d", r.Seq)
		}
		testkit.WantErr(t, err, core.ErrLost)
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
