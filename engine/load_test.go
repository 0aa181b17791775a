package engine_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestCheckpointAfterLaterRecords(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	mustAppend(t, s, core.MainHead, "", message("a"))
	d := draft(s)
	if _, err := b.Put(t.Context(), d.Plain); err != nil {
		t.Fatal(err)
	}
	other := open(t, node(l, b), "session1")
	mustAppend(t, other, core.MainHead, "", message("b"))
	c := claim(t, other, core.ClaimRequest{Head: "side", Agent: "x"})
	if err := s.Checkpoint(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, "side", c.Writer, message("c"))

	rs := records(t, l, "session1")
	testkit.Equal(t, "kind of record 5", core.KindCheckpoint, rs[4].Kind)
	testkit.Equal(t, "its base", rs[1].Pos, rs[4].Base)
	testkit.Equal(t, "base of the record after it", rs[4].Pos, rs[5].Base)
	want := folded(t, l, "session1", rs)
	testkit.Equal(t, "tail", int64(len(rs[2].Body)+len(rs[3].Body)+len(rs[5].Body)), want.Tail)
	sameState(t, "from the checkpoint", want, state(t, open(t, node(l, b), "session1")))

	if err := s.Checkpoint(t.Context(), d); err != nil { // a checkpoint that covers as much exists
		t.Fatal(err)
	}
	testkit.Equal(t, "records", 6, len(records(t, l, "session1")))
}

func TestLoadFromCheckpointEqualsLoadFromFirst(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""), `{"type":"custom"}`, entry("a", "root"))
	for i := range 12 {
		mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("m%d", i)))
		switch i {
		case 3:
			c := claim(t, s, core.ClaimRequest{Head: "side", Agent: "x", Host: "h"})
			mustAppend(t, s, "side", c.Writer, message("s"))
		case 5:
			_ = s.Finish(t.Context(), core.Notice{By: "x"})
		case 7:
			_ = s.Move(t.Context(), "third", "", core.NoLeaf)
		}
		if i%4 == 2 {
			checkpoint(t, s, b)
		}
		want := folded(t, l, "session1", records(t, l, "session1"))
		sameState(t, "kept", want, state(t, s))
		sameState(t, "opened", want, state(t, open(t, node(l, b), "session1")))
	}
}

func TestMissingSnapshotFallsBackToRecords(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	checkpoint(t, s, b)
	mustAppend(t, s, core.MainHead, "", message("a"))
	last := core.DigestOf(draft(s).Plain)
	checkpoint(t, s, b)
	mustAppend(t, s, core.MainHead, "", message("b"))
	want := state(t, s)

	b.Damage(last)
	sameState(t, "last snapshot damaged", want, state(t, open(t, node(l, b), "session1")))
	b.Forget(last)
	sameState(t, "last snapshot gone", want, state(t, open(t, node(l, b), "session1")))

	// Without the records before the second, the older snapshot is used.
	cut := cutLog{l, records(t, l, "session1")[1].Pos}
	sameState(t, "first record gone as well", want, state(t, open(t, node(cut, b), "session1")))
	cut.from++ // now the older checkpoint is missing too
	_, err := node(cut, b).Open(t.Context(), "session1")
	testkit.WantErr(t, err, core.ErrCorrupt)
}

// A cutLog is a log whose records before from were dropped.
type cutLog struct {
	*memlog.Log
	from core.Pos
}

func (c cutLog) At(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	if pos < c.from {
		return nil, core.ErrNotFound
	}
	return c.Log.At(ctx, id, pos)
}

func (c cutLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return c.Log.Read(ctx, id, max(after, c.from-1), upTo)
}

func TestWriterReloadsAfterMissedTruncation(t *testing.T) {
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	mustAppend(t, s, core.MainHead, "", message("a"))
	cut := &cutLog{l, 1}
	behind := open(t, node(cut, b), "session1")
	mustAppend(t, s, core.MainHead, "", message("b"), message("c"))
	checkpoint(t, s, b)
	cut.from = state(t, s).Pos
	mustAppend(t, behind, core.MainHead, "", message("d"))
	testkit.Equal(t, "entries", []string{"root", "a", "b", "c", "d"}, ids(state(t, behind)))
	sameState(t, "after it", folded(t, l, "session1", records(t, l, "session1")), state(t, behind))
}

// A stale answer must not remove records that a session has already read.
func TestStaleAnswersDoNotRemoveReadRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := memlog.New("test"), streamtest.NewBlobs()
		create(t, node(l, b), "session1", entry("root", ""))
		s, err := openThrough(t.Context(), node(logtest.Faulty(l, logtest.Faults{Stale: 0.7}), b), "session1")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("m%d", i)))
			if err := s.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			testkit.Equal(t, "entries", i+2, len(state(t, s).Entries))
		}
	})
}

// Lines taken from a View do not change while others write.
func TestLinesOutliveTheirView(t *testing.T) {
	_, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("m%d", i)))
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		var es []core.Entry
		_ = s.View(func(st *core.State) error { es = st.Entries; return nil })
		for i := range es {
			if len(es[i].Line) == 0 || i > 0 && es[i].ID != fmt.Sprintf("m%d", i-1) {
				t.Fatalf("entry %d is %+v", i, es[i])
			}
		}
	}
}

func TestUnreachableLogFailsAtTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, b := &hooked{Log: memlog.New("test")}, streamtest.NewBlobs()
		s := create(t, node(l, b), "session1")
		l.hook(func(func() (core.Pos, error)) (core.Pos, error) { return 0, core.ErrUncertain })
		began := time.Now()
		_, err := appendLines(t.Context(), s, message("a"))
		testkit.WantErr(t, err, core.ErrUncertain)
		if took := time.Since(began); took < 19*time.Second || took > 21*time.Second {
			t.Errorf("it took %v, the timeout is 20 s", took)
		}
		l.hook(func(func() (core.Pos, error)) (core.Pos, error) { return 0, core.ErrConflict })
		_, err = appendLines(t.Context(), s, message("a"))
		testkit.WantErr(t, err, core.ErrUnavailable) // rejected every time: nothing was stored
		l.hook(nil)
		mustAppend(t, s, core.MainHead, "", message("a"))
	})
}
