package engine_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// pastFrom returns the backup of a session whose records are rs, from the nth record
// on, and those records.
func pastFrom(rs []*core.Record, n int) (engine.History, []*core.Record) {
	seq, chain := uint64(0), core.Chain{}
	if n > 0 {
		seq, chain = rs[n-1].Seq, rs[n-1].Chain
	}
	return engine.HistoryOf(seq, chain, rs[n:]), rs[n:]
}

func TestRestoreComparesLogAndBackup(t *testing.T) {
	t.Parallel()
	l, ss, _ := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	for _, id := range []string{"a", "b", "c"} {
		mustAppend(t, s, core.MainHead, "", message(id))
	}
	rs := records(t, l, "session1")
	_, elsewhere, _ := inMemory()
	other := create(t, elsewhere, "session1", entry("root", ""))
	mustAppend(t, other, core.MainHead, "", message("x"))

	// Each case has a separate log with the first n records.
	with := func(n int) *engine.Sessions {
		_, to, _ := inMemory()
		if n > 0 {
			if _, stored, err := to.Restore(t.Context(), "session1", 0, core.Chain{}, rs[:n]); err != nil || stored != n {
				t.Fatalf("%d of %d stored: %v", stored, n, err)
			}
		}
		return to
	}
	gone := with(4)
	if err := open(t, gone, "session1").Erase(t.Context(), core.Notice{By: "ada"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		log   *engine.Sessions
		from  int // number of records before the past
		upTo  int // last record of the past
		want  report.Relation
		lacks int
		err   error
	}{
		{"nothing is there", with(0), 0, 4, report.Absent, 4, nil},
		{"all is there", with(4), 0, 4, report.Same, 0, nil},
		{"all is there, the past has a snapshot", with(4), 2, 4, report.Same, 0, nil},
		{"the end is missing", with(2), 0, 4, report.Behind, 2, nil},
		{"all after the snapshot is missing", with(2), 2, 4, report.Behind, 2, nil},
		{"another writer appended", with(4), 0, 3, report.Ahead, 0, nil},
		{"another writer appended after the snapshot", with(4), 1, 2, report.Ahead, 0, nil},
		{"the log ends before the snapshot", with(1), 2, 4, report.TooShort, 0, core.ErrConflict},
		{"it was erased", gone, 0, 4, report.Erased, 0, core.ErrDeleted},
		{"another session of that name", elsewhere, 0, 4, report.Diverged, 0, core.ErrConflict},
	} {
		p, _ := pastFrom(rs[:c.upTo], c.from)
		got, err := c.log.Compare(t.Context(), "session1", p)
		if err != nil || got.Relation != c.want || got.MissingRecords != c.lacks {
			t.Errorf("%s: %+v, %v; want %s, lacks %d", c.name, got, err, c.want, c.lacks)
		}
		if err := got.Err("session1"); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
}

// A restore yields the same session, with or without its snapshot, also if part of it
// already exists or the restore is repeated.
func TestRestoredSessionHasTheSameRecords(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	mustAppend(t, s, core.MainHead, "", message("a"))
	mustAppend(t, s, core.MainHead, "", message("b"))
	checkpoint(t, s, b)
	mustAppend(t, s, core.MainHead, "", message("c"))
	rs := records(t, l, "session1")
	want := state(t, open(t, ss, "session1"))

	for _, from := range []int{0, 3} { // from the open, or on the snapshot
		p, part := pastFrom(rs, from)
		for there := range len(part) + 1 {
			if there > 0 && from > 0 && there < 2 {
				continue // the checkpoint is the first record, and its base
			}
			to := newLogWith(b)
			if there > 0 {
				if _, _, err := to.sessions.Restore(t.Context(), "session1", p.Seq, p.Chain, part[:there]); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := to.sessions.Refold(t.Context(), "session1", p.Seq, p.Chain, part); err != nil {
				t.Fatal(err)
			}
			for i, lacks := range []int{len(part) - there, 0} {
				if _, stored, err := to.sessions.Restore(t.Context(), "session1", p.Seq, p.Chain, part); err != nil || stored != lacks {
					t.Errorf("from %d with %d present, try %d: %d stored, want %d: %v", from, there, i, stored, lacks, err)
				}
			}
			got := records(t, to.log, "session1")
			if len(got) != len(part) {
				t.Fatalf("%d records, want %d", len(got), len(part))
			}
			for i := range got {
				if got[i].Chain != part[i].Chain || !got[i].Redo || !got[i].Restored {
					t.Errorf("record %d is %+v", part[i].Seq, got[i])
				}
			}
			if in := inspect(t, to.sessions, "session1"); in.Rewritten != 0 || in.Restored != len(part) { // nothing was lost
				t.Errorf("%d records reported as repaired, %d of %d restored", in.Rewritten, in.Restored, len(part))
			}
			again := open(t, to.sessions, "session1")
			if st := state(t, again); st.Chain != want.Chain || string(st.Render()) != string(want.Render()) {
				t.Errorf("from %d with %d present: got\n%s", from, there, st.Render())
			}
			mustAppend(t, again, core.MainHead, "", message("d")) // the session accepts appends
		}
	}
}

// A past that does not fold stores nothing.
func TestRestoreRejectsPastThatDoesNotFold(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	s := create(t, ss, "session1", entry("root", ""))
	mustAppend(t, s, core.MainHead, "", message("a"))
	checkpoint(t, s, b)
	mustAppend(t, s, core.MainHead, "", message("b"))
	rs := records(t, l, "session1")
	bent := *rs[1]
	bent.Body = []byte(message("evil"))
	for name, c := range map[string]struct {
		from    int
		records []*core.Record
		id      core.SessionID
		want    error
	}{
		"no records":        {0, nil, "session1", core.ErrInvalid},
		"a hole":            {0, []*core.Record{rs[0], rs[2]}, "session1", core.ErrInvalid},
		"other bytes":       {0, []*core.Record{rs[0], &bent}, "session1", core.ErrOrphan},
		"another session's": {0, rs, "session2", core.ErrOrphan},
		"without the base":  {3, rs[3:], "session1", core.ErrInvalid},
	} {
		p, part := pastFrom(rs, c.from)
		if c.records == nil || c.from == 0 {
			part = c.records
		}
		if _, err := ss.Refold(t.Context(), c.id, p.Seq, p.Chain, part); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A newPlace is a new log with a node on it.
type newPlace struct {
	log      core.Log
	sessions *engine.Sessions
}

// newLogWith returns a new log that shares the snapshots and blobs of b.
func newLogWith(b *streamtest.Blobs) newPlace {
	l, _, _ := inMemory()
	return newPlace{l, node(l, b)}
}
