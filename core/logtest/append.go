package logtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

func hasAName(t *testing.T, l core.Log) {
	if l.Name() == "" {
		t.Error("the log has no name, every chain begins with one")
	}
}

func unknownSession(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	_, err := l.Last(ctx, id)
	testkit.WantErr(t, err, core.ErrNotFound)
	for _, pos := range []core.Pos{0, 1, 1 << 40, math.MaxUint64} {
		_, err = l.At(ctx, id, pos)
		testkit.WantErr(t, err, core.ErrNotFound)
	}
	if rs := take(t, -1, l.Read(ctx, id, 0, 1<<40)); len(rs) > 0 {
		t.Errorf("read %d records of a session that has none", len(rs))
	}
}

func staleAfter(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	at := put(ctx, t, l, id, 3)
	for _, after := range []core.Pos{0, at[1], at[2], at[3] + 1, at[3] + 1<<40} {
		_, err := l.Append(ctx, id, after, newRecord(4, "stale"))
		testkit.WantErr(t, err, core.ErrConflict)
	}
	last, err := l.Last(ctx, id)
	if err != nil || last.Pos != at[3] {
		t.Fatalf("last record is %v, %v, want the one at %d", last, err, at[3])
	}
	if got := seqs(readAll(ctx, t, l, id, last.Pos)); !cmp.Equal(got, upTo(1, 3)) {
		t.Errorf("the session has records %v", got)
	}
	if _, err := l.Append(ctx, NewID(), at[3], newRecord(1, "stale")); !errors.Is(err, core.ErrConflict) {
		t.Errorf("a new session began after another one's record: %v", err)
	}
}

func oneWins(t *testing.T, l core.Log) {
	const rounds, writers = 12, 6
	ctx, id := within(t), NewID()
	var after core.Pos
	for round := range rounds {
		var mu sync.Mutex
		var won []*core.Record
		var g errgroup.Group
		for range writers {
			g.Go(func() error {
				r := newRecord(uint64(round+1), rand.Text())
				pos, err := l.Append(ctx, id, after, r)
				if errors.Is(err, core.ErrConflict) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				r.Pos, r.After = pos, after
				won = append(won, r)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if len(won) != 1 {
			t.Fatalf("%d of %d writers won", len(won), writers)
		}
		last, err := l.Last(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(won[0], last); d != "" || last.Pos != won[0].Pos {
			t.Fatalf("the last record is not the winner's (-won +last)\n%s", d)
		}
		after = last.Pos
	}
}

// bodies are what a log must give back to the letter.
func bodies() map[string][]byte {
	noise := make([]byte, 300<<10)
	_, _ = rand.Read(noise) // never fails
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return map[string][]byte{
		"none":            nil,
		"one byte":        {0},
		"every byte":      every,
		"lines":           []byte("{\"a\":1}\n{\"b\":\"\xff\"}\r\n\n"),
		"like a header":   []byte("NATS/1.0\r\nSess-V: 2\r\n\r\n"),
		"like zstd":       {0x28, 0xb5, 0x2f, 0xfd, 0},
		"compressible":    bytes.Repeat([]byte("entry "), 2000),
		"255 KiB, noise":  noise[:255<<10],
		"300 KiB, noise":  noise,
		"2 MiB, patterns": bytes.Repeat(noise[:1<<10], 2<<10),
	}
}

func comeBackWhole(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	var want []*core.Record
	var after core.Pos
	for name, body := range bodies() {
		r := newRecord(uint64(len(want)+1), "")
		r.Body, r.Kind, r.Head, r.Writer = body, core.Kind("made-up"), "a.head-1_", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
		r.Base, r.Epoch, r.Count, r.After = 77, math.MaxUint64, 12345, after
		r.Redo, r.Restored = len(want)%3 > 0, len(want)%3 == 2
		pos, err := l.Append(ctx, id, after, r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		last, err := l.Last(ctx, id)
		if err != nil || last.Pos != pos || diff(r, last) != "" {
			t.Errorf("%s: Last gives another record: %v %s", name, err, diff(r, last))
		}
		if err == nil && time.Since(last.Time).Abs() > time.Hour {
			t.Errorf("%s: stored at %v", name, last.Time)
		}
		at, err := l.At(ctx, id, pos)
		if err != nil || at.Pos != pos || diff(r, at) != "" {
			t.Errorf("%s: At gives another record: %v %s", name, err, diff(r, at))
		}
		want, after = append(want, r), pos
	}
	for name, got := range map[string][]*core.Record{
		"Read":   readAll(ctx, t, l, id, after),
		"Follow": take(t, len(want), l.Follow(ctx, id, 0)),
	} {
		if len(got) != len(want) {
			t.Fatalf("%s gives %d records of %d", name, len(got), len(want))
		}
		for i := range got {
			if d := diff(want[i], got[i]); d != "" {
				t.Errorf("%s, record %d (-want +got)\n%s", name, i+1, d)
			}
		}
	}
}

func doesNotKeep(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	r := newRecord(1, "as it was")
	want := *r
	want.Body = bytes.Clone(r.Body)
	pos, err := l.Append(ctx, id, 0, r)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&want, r); d != "" {
		t.Errorf("Append changed the record (-want +got)\n%s", d)
	}
	copy(r.Body, "tampered!")
	r.Head = "tampered"
	got, err := l.At(ctx, id, pos)
	if err != nil || diff(&want, got) != "" {
		t.Errorf("the log has what its caller changed later: %v %s", err, diff(&want, got))
	}
}

func endedContext(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	at := put(ctx, t, l, id, 1)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err := l.Append(ended, id, at[1], newRecord(2, "late"))
	if err == nil {
		t.Error("Append has no error")
	}
	if _, err := l.Last(ended, id); err == nil {
		t.Error("Last has no error")
	}
	if _, err := l.At(ended, id, at[1]); err == nil {
		t.Error("At has no error")
	}
	for r, err := range l.Read(ended, id, 0, at[1]) {
		if err == nil {
			t.Errorf("Read gives record %d", r.Seq)
		}
	}
	last, lerr := l.Last(ctx, id)
	if lerr != nil {
		t.Fatal(lerr)
	}
	if last.Seq != 1 && !errors.Is(err, core.ErrUncertain) {
		t.Errorf("the record was stored, Append said %v", err)
	}
}

func manySessions(t *testing.T, l core.Log) {
	const sessions, records = 40, 4
	ctx := within(t)
	var g errgroup.Group
	g.SetLimit(16)
	for range sessions {
		g.Go(func() error {
			id := NewID()
			var after core.Pos
			for i := range records {
				pos, err := l.Append(ctx, id, after, newRecord(uint64(i+1), string(id)))
				if err != nil {
					return err
				}
				after = pos
			}
			for _, r := range readAll(ctx, t, l, id, after) {
				if string(r.Body) != string(id) {
					t.Errorf("session %s has a record of %s", id, r.Body)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}
