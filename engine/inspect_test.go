package engine_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func kinds(fs []engine.Fault) []engine.FaultKind {
	ks := []engine.FaultKind{}
	for _, f := range fs {
		ks = append(ks, f.Kind)
	}
	return ks
}

// large is a message that is too large to be inlined in its record.
func large(id string) string {
	noise := make([]byte, stream.SpillSize)
	for i := range noise {
		noise[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[rand.IntN(64)]
	}
	return strings.Replace(message(id), `"hi"`, `"`+string(noise)+string(noise)+`"`, 1)
}

func inspect(t *testing.T, ss *engine.Sessions, id core.SessionID) *engine.Inspection {
	t.Helper()
	in, err := ss.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestInspectReportsOrphansAndRepairs(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id, s, other := stray(t, l, ss, b)
	mustAppend(t, other, core.MainHead, "", message("f"))
	in := inspect(t, node(l, b), id)
	testkit.Equal(t, "orphans", []engine.FaultKind{engine.Orphan}, kinds(in.Orphans))
	testkit.Equal(t, "faults", []engine.FaultKind{}, kinds(in.Faults))
	testkit.Equal(t, "records", 4, in.Records)
	testkit.Equal(t, "entries", []string{"a", "d", "f"}, ids(in.State))
	l.Forget(1)
	if err := other.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = s
	testkit.Equal(t, "put back", 0, inspect(t, node(l, b), id).Rewritten) // f followed an orphan: its line is on a separate head
}

// A truncatedLog drops the records before from. It calls read after each record that a
// caller reads.
type truncatedLog struct {
	engine.Log
	from core.Pos
	read func(*core.Record)
}

func (l *truncatedLog) Range(ctx context.Context, id core.SessionID) (first, last core.Pos, err error) {
	_, last, err = l.Log.Range(ctx, id)
	return l.from, last, err
}

func (l *truncatedLog) LinkAt(ctx context.Context, id core.SessionID, pos core.Pos) (*core.Record, error) {
	if pos < l.from {
		return nil, core.ErrNotFound
	}
	return l.Log.LinkAt(ctx, id, pos)
}

func (l *truncatedLog) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return func(yield func(*core.Record, error) bool) {
		for r, err := range l.Log.Read(ctx, id, max(after, l.from-1), upTo) {
			if err == nil {
				l.read(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (l *truncatedLog) ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return l.Read(ctx, id, after, upTo)
}

func TestInspectEndsIfItsBaseIsTruncated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, ss, b := inMemory()
		s := create(t, ss, "session1", entry("a", ""))
		checkpoint(t, s, b)
		first := state(t, s).Pos
		mustAppend(t, s, core.MainHead, "", message("b"))
		checkpoint(t, s, b)
		second := state(t, s).Pos
		mustAppend(t, s, core.MainHead, "", message("c"))
		l := &truncatedLog{Log: full(memory), from: first}
		l.read = func(r *core.Record) {
			if r.Pos == first {
				l.from = second
			}
		}
		in := inspect(t, node(l, b), "session1")
		testkit.Equal(t, "faults", []engine.FaultKind{}, kinds(in.Faults))
		testkit.Equal(t, "entries", []string{"a", "b", "c"}, ids(in.State))
	})
}

// An unreadableLog has records of which none can be read.
type unreadableLog struct{ engine.Log }

func (l unreadableLog) LastLink(context.Context, core.SessionID) (*core.Record, error) {
	return nil, &storage.EndError{Err: core.ErrCorrupt}
}

func (l unreadableLog) LinkAt(context.Context, core.SessionID, core.Pos) (*core.Record, error) {
	return nil, core.ErrNotFound
}

func (l unreadableLog) Read(context.Context, core.SessionID, core.Pos, core.Pos) iter.Seq2[*core.Record, error] {
	return func(func(*core.Record, error) bool) {}
}

func (l unreadableLog) ReadFromLeader(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	return l.Read(ctx, id, after, upTo)
}

func TestInspectReportsThatNoRecordCanBeRead(t *testing.T) {
	t.Parallel()
	memory, ss, b := inMemory()
	create(t, ss, "session1", entry("a", ""))
	in := inspect(t, node(unreadableLog{full(memory)}, b), "session1")
	testkit.Equal(t, "faults", []engine.FaultKind{engine.End}, kinds(in.Faults))
	testkit.Equal(t, "readable", false, in.State != nil)
}

func TestInspectReportsUnreadableRecord(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	s := create(t, ss, id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", message("b"))
	mustAppend(t, s, core.MainHead, "", message("c"))
	holed := &hole{Log: l, at: records(t, l, id)[1].Pos}
	in := inspect(t, node(holed, b), id)
	testkit.Equal(t, "faults", []engine.FaultKind{engine.Gap}, kinds(in.Faults))
	testkit.Equal(t, "readable", false, in.State != nil)

	checkpoint(t, open(t, node(l, b), id), b)
	in = inspect(t, node(holed, b), id)
	testkit.Equal(t, "faults before a checkpoint", []engine.FaultKind{engine.Gap}, kinds(in.Faults))
	testkit.Equal(t, "entries", []string{"a", "b", "c"}, ids(in.State))
}

func TestInspectReportsForeignMessageAndMissingBody(t *testing.T) {
	t.Parallel()
	nc := streamtest.Connect(t, embeddedtest.Start(t))
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Blobs: b})
	id := logtest.NewID()
	s := create(t, node(l, b), id, entry("a", ""))
	mustAppend(t, s, core.MainHead, "", large("b"))
	testkit.Equal(t, "faults", []engine.FaultKind{}, kinds(inspect(t, node(l, b), id).Faults))
	b.Forget(core.DigestOf(records(t, l, id)[1].Body))
	testkit.Equal(t, "without the body", []engine.FaultKind{engine.BodyGone}, kinds(inspect(t, node(l, b), id).Faults))

	if _, err := nc.Request("sess.main.00."+string(id), []byte("rubbish"), time.Minute); err != nil { // answered once it is stored
		t.Fatal(err)
	}
	testkit.Equal(t, "and with a foreign message", []engine.FaultKind{engine.BodyGone, engine.Unreadable}, kinds(inspect(t, node(l, b), id).Faults))
}
