package logtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

func readBounds(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	at := put(ctx, t, l, id, 5)
	other := put(ctx, t, l, NewID(), 1) // so that there are positions after the last record
	for _, c := range []struct {
		after, upTo core.Pos
		want        []uint64
	}{
		{0, at[5], upTo(1, 5)},
		{at[2], at[4], upTo(3, 4)},
		{at[4], at[5], upTo(5, 5)},
		{at[5], other[1], nil},
		{at[3], at[3], nil},
		{at[3], at[1], nil},
		{0, at[5] - 1, upTo(1, 4)},
		{math.MaxUint64 - 1, math.MaxUint64, nil},
	} {
		readIs(ctx, t, l, id, c.after, c.upTo, -1, c.want)
	}
	readIs(ctx, t, l, id, 0, at[5], 2, upTo(1, 2))
}

// readIs reads at most n records until they are want. Each read may be answered
// by another replica; one that lags returns a prefix, never other records.
func readIs(ctx context.Context, t *testing.T, l core.Log, id core.SessionID, after, end core.Pos, n int, want []uint64) {
	t.Helper()
	for {
		got := seqs(take(t, n, l.Read(ctx, id, after, end)))
		if cmp.Equal(got, want) {
			return
		}
		if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("read behind %d up to %d gives %v, want %v", after, end, got, want)
			return
		}
		if err := ctx.Err(); err != nil {
			t.Fatalf("read behind %d up to %d gives %v to the end, want %v: %v", after, end, got, want, err)
		}
	}
}

func othersUnseen(t *testing.T, l core.Log) {
	ctx, a := within(t), NewID()
	b, c := a+"x", "x"+a // as near to it as ids can be
	var at []core.Pos
	after := map[core.SessionID]core.Pos{}
	for i := range uint64(4) {
		for _, id := range []core.SessionID{a, b, c} {
			pos, err := l.Append(ctx, id, after[id], newRecord(i+1, string(id)))
			if err != nil {
				t.Fatal(err)
			}
			after[id] = pos
			if id == a {
				at = append(at, pos)
			}
		}
	}
	for _, id := range []core.SessionID{a, b, c} {
		for _, r := range readAll(ctx, t, l, id, after[id]) {
			if string(r.Body) != string(id) {
				t.Errorf("session %s has a record of %s", id, r.Body)
			}
		}
		// The place may be free in another part of the log, but never a's.
		if r, err := l.At(ctx, id, at[1]); err == nil && string(r.Body) != string(id) {
			t.Errorf("session %s has the record of %s at %d", id, r.Body, r.Pos)
		}
	}
}

func followSeesLater(t *testing.T, l core.Log) {
	ctx, id := within(t), NewID()
	at := put(ctx, t, l, id, 2)
	var got []uint64
	after := at[2]
	for r, err := range l.Follow(ctx, id, at[1]) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, r.Seq); r.Seq == 6 {
			break
		}
		if after, err = l.Append(ctx, id, after, newRecord(r.Seq+1, "later")); err != nil {
			t.Fatal(err)
		}
	}
	if want := upTo(2, 6); !cmp.Equal(got, want) {
		t.Errorf("followed %v, want %v", got, want)
	}
}

func followMissesNothing(t *testing.T, l core.Log) {
	const records, writers, followers = 60, 3, 3
	ctx, id := within(t), NewID()
	var g errgroup.Group
	for range writers {
		g.Go(func() error { return writeUntil(ctx, l, id, records) })
	}
	for range followers {
		g.Go(func() error {
			// No deadline, because a follower may have none.
			fctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			next := uint64(1)
			for r, err := range l.Follow(fctx, id, 0) {
				if err != nil {
					return fmt.Errorf("at record %d: %w", next, err)
				}
				if r.Seq != next {
					return fmt.Errorf("follower got record %d, want %d", r.Seq, next)
				}
				if next++; r.Seq == records {
					return nil
				}
			}
			return errors.New("the follower ended by itself")
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// writeUntil appends, concurrently with others, until the session has n
// records.
func writeUntil(ctx context.Context, l core.Log, id core.SessionID, n uint64) error {
	for {
		var after core.Pos
		var seq uint64
		last, err := l.Last(ctx, id)
		switch {
		case err == nil:
			after, seq = last.Pos, last.Seq
		case !errors.Is(err, core.ErrNotFound):
			return err
		}
		if seq >= n {
			return nil
		}
		if _, err := l.Append(ctx, id, after, newRecord(seq+1, "one of many")); err != nil && !errors.Is(err, core.ErrConflict) {
			return err
		}
	}
}

func followEnds(t *testing.T, l core.Log) {
	id := NewID()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	put(ctx, t, l, id, 1)
	var end error
	for r, err := range l.Follow(ctx, id, 0) {
		if err != nil {
			end = err
			continue
		}
		if r.Seq != 1 {
			t.Errorf("followed record %d", r.Seq)
		}
		cancel() // while it waits for more
	}
	testkit.WantErr(t, end, context.Canceled)

	end = nil
	for r, err := range l.Follow(ctx, id, 0) {
		if err == nil {
			t.Errorf("a follower whose context had ended got record %d", r.Seq)
		}
		end = err
	}
	if end == nil {
		t.Error("a follower whose context had ended was told nothing")
	}
}
