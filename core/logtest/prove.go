package logtest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// prover returns l as a core.Prover. A log need not be one.
func prover(t *testing.T, l core.Log) core.Prover {
	t.Helper()
	p, ok := l.(core.Prover)
	if !ok {
		t.Skip("this log proves nothing")
	}
	return p
}

// proved calls Prove again while it returns ErrUnavailable.
func proved(ctx context.Context, p core.Prover, id core.SessionID, last core.Pos) error {
	for {
		err := p.Prove(ctx, id, last)
		if !errors.Is(err, core.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
	}
}

func provesLast(t *testing.T, l core.Log) {
	p := prover(t, l)
	ctx, id := within(t), NewID()
	testkit.WantErr(t, proved(ctx, p, id, 1), core.ErrConflict)
	if err := proved(ctx, p, id, 0); err != nil {
		t.Errorf("a session without records has none: %v", err)
	}
	at := put(ctx, t, l, id, 3)
	put(ctx, t, l, NewID(), 2)
	for _, pos := range []core.Pos{0, at[1], at[2], at[3] + 1, at[3] + 1<<40} {
		testkit.WantErr(t, proved(ctx, p, id, pos), core.ErrConflict)
	}
	for range 3 {
		if err := proved(ctx, p, id, at[3]); err != nil {
			t.Errorf("the last record is the last: %v", err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	testkit.WantErr(t, p.Prove(ended, id, at[3]), core.ErrUnavailable)
}

func proofIsNoRecord(t *testing.T, l core.Log) {
	p := prover(t, l)
	ctx, id := within(t), NewID()
	follow, stop := context.WithCancel(ctx)
	defer stop()
	seen := make(chan uint64, 8)
	go func() {
		defer close(seen)
		for r, err := range l.Follow(follow, id, 0) {
			if err != nil {
				return
			}
			seen <- r.Seq
		}
	}()
	var after core.Pos
	for seq := range uint64(3) {
		if err := proved(ctx, p, id, after); err != nil {
			t.Fatal(err)
		}
		pos, err := l.Append(ctx, id, after, newRecord(seq+1, "between proofs"))
		if err != nil {
			t.Fatalf("an append after a proof: %v", err)
		}
		after = pos
		if err := proved(ctx, p, id, after); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := l.Last(ctx, id); err != nil || last.Seq != 3 || last.Pos != after {
		t.Errorf("the last record is %v, %v", last, err)
	}
	if got := seqs(readAll(ctx, t, l, id, after)); !cmp.Equal(got, upTo(1, 3)) {
		t.Errorf("the session has records %v", got)
	}
	for want := range uint64(3) {
		if got := <-seen; got != want+1 {
			t.Errorf("followed record %d, want %d", got, want+1)
		}
	}
}
