package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// The answer includes every record acknowledged before the request, on one server and
// on a cluster whose replicas lag.
func TestEndsIncludeAcknowledgedRecords(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *stream.Log{
		"R1": func(t *testing.T) *stream.Log {
			return streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1})
		},
		"R3": func(t *testing.T) *stream.Log {
			if testing.Short() {
				t.Skip("a cluster")
			}
			return streamtest.Open(t, streamtest.Connect(t, embeddedtest.StartCluster(t, 3)[0]), stream.LogConfig{Shards: 1, Replicas: 3})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t)
			if e, err := tailsOf(t, l); err != nil || !e.Strict || len(e.Sessions) != 0 {
				t.Errorf("of an empty shard: %+v, %v", e, err)
			}
			last := map[core.SessionID]core.Pos{}
			for i := range 30 {
				id := core.SessionID(fmt.Sprintf("session%d", i%7))
				pos, err := l.Append(t.Context(), id, last[id], testRecord(uint64(i/7+1), []byte("x")))
				if err != nil {
					t.Fatal(err)
				}
				last[id] = pos
				e, err := tailsOf(t, l)
				if err != nil || !e.Strict || e.At <= pos || len(e.Sessions) != len(last) {
					t.Fatalf("after %d appends: %+v, %v", i+1, e, err)
				}
				for j, ch := range e.Sessions {
					if ch.Pos != last[ch.Session] || j > 0 && ch.Session <= e.Sessions[j-1].Session {
						t.Errorf("after %d appends: %s ends at %d, want %d", i+1, ch.Session, ch.Pos, last[ch.Session])
					}
				}
			}
		})
	}
}

// tailsOf retries while the shard elects a leader.
func tailsOf(t *testing.T, l *stream.Log) (stream.Tails, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		tails, err := l.Tails(ctx, 0, true)
		if err == nil || !errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
			return tails, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A tail starts at the session's base, or after the caller's cursor. If that cursor is
// no longer part of the session, the tail is the whole session.
func TestTailStartsAtCursorOrBase(t *testing.T) {
	t.Parallel()
	b := streamtest.NewBlobs()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, "session1", entry("root", ""))
	cursors := []core.Cursor{{}, state(t, s).Cursor()}
	add := func(id string) {
		mustAppend(t, s, core.MainHead, "", message(id))
		cursors = append(cursors, state(t, s).Cursor())
	}
	wantTail := func(what string, from engine.TailFrom, covered, first, last uint64) {
		t.Helper()
		tail, err := ss.Tail(t.Context(), "session1", from)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		var got []uint64
		for z, err := range tail.Records {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			got = append(got, z.Seq)
		}
		var want []uint64
		for seq := first; seq <= last; seq++ {
			want = append(want, seq)
		}
		testkit.Equal(t, what, want, got)
		if tail.Covered != covered || tail.Last.Seq != last || first > 0 && tail.Seq != first-1 {
			t.Errorf("%s: it starts after record %d, a snapshot covers %d, the last is %d", what, tail.Seq, tail.Covered, tail.Last.Seq)
		}
	}
	add("a")
	add("b")
	wantTail("from the open", engine.TailFrom{}, 0, 1, 3)
	wantTail("behind a record", engine.TailFrom{After: cursors[2]}, 0, 3, 3)
	wantTail("behind the last", engine.TailFrom{After: cursors[3]}, 0, 4, 3)
	other := cursors[2]
	other.Chain[0] ^= 1
	wantTail("behind a record of another past", engine.TailFrom{After: other}, 0, 1, 3)
	wantTail("behind what is to come", engine.TailFrom{After: core.Cursor{Seq: 9}}, 0, 1, 3)

	checkpoint(t, s, b) // record 4, covers 3
	cursors = append(cursors, state(t, s).Cursor())
	add("c")
	wantTail("from the snapshot", engine.TailFrom{}, 3, 4, 5)
	wantTail("behind the checkpoint", engine.TailFrom{After: cursors[4]}, 3, 5, 5)
	wantTail("behind what the snapshot covers", engine.TailFrom{After: cursors[2]}, 3, 4, 5)
	wantTail("all that there is", engine.TailFrom{Start: true, After: cursors[4]}, 0, 1, 5)

	if err := s.Erase(t.Context(), core.Notice{By: "ada"}, nil); err != nil {
		t.Fatal(err)
	}
	tail, err := ss.Tail(t.Context(), "session1", engine.TailFrom{After: cursors[4]})
	if err != nil || tail.Seq != 0 || tail.Covered != 0 {
		t.Fatalf("erased: %+v, %v", tail, err)
	}
	n := 0
	for z, err := range tail.Records {
		if n++; err != nil || z.Kind != core.KindErase {
			t.Errorf("erased: %+v, %v", z, err)
		}
	}
	testkit.Equal(t, "records of an erased session", 1, n)
	_, err = ss.Tail(t.Context(), "nobody-1", engine.TailFrom{})
	testkit.WantErr(t, err, core.ErrNotFound)
}
