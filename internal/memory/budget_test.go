package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/memory"
)

func used(b *memory.Budget) int64 {
	n, _, _ := b.Stats()
	return n
}

func TestAcquireWaitsAndThenRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget("test", 100)
		l, err := b.Acquire(t.Context(), 80)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := b.Acquire(t.Context(), 30); !errors.Is(err, core.ErrUnavailable) || time.Since(began) != memory.Timeout {
			t.Errorf("beyond the budget: %v after %v", err, time.Since(began))
		}
		if _, _, refused := b.Stats(); refused != 1 {
			t.Errorf("%d refused, want 1", refused)
		}
		time.AfterFunc(time.Second, l.Release)
		if l, err = b.Acquire(t.Context(), 1000); err != nil || used(b) != 100 {
			t.Errorf("more than the whole budget: %v, %d used, want all", err, used(b))
		}
		l.Release()
		l.Release()
		if used(b) != 0 {
			t.Errorf("%d used after the release", used(b))
		}
	})
}

func TestShortageReclaimsFirst(t *testing.T) {
	t.Parallel()
	b := memory.NewBudget("test", 100)
	cached, err := b.Acquire(t.Context(), 90)
	if err != nil {
		t.Fatal(err)
	}
	b.OnShortage(func(n int64) {
		if n != 50 {
			t.Errorf("%d bytes are asked for, want 50", n)
		}
		cached.Release()
	})
	if _, err := b.Acquire(t.Context(), 50); err != nil || used(b) != 50 {
		t.Errorf("%v, %d used", err, used(b))
	}
}

// Two leases that hold the whole budget and both need more would wait for each
// other. One at a time exceeds the budget, and the other gets its turn.
func TestGrowingLeasesDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.NewBudget("test", 100)
		done := make(chan error)
		for range 4 {
			go func() {
				l := b.Lease()
				defer l.Release()
				for range 10 {
					if err := l.Grow(t.Context(), 10); err != nil {
						done <- err
						return
					}
					time.Sleep(time.Millisecond)
				}
				done <- nil
			}()
		}
		for range 4 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if l, err := b.Acquire(t.Context(), 100); err != nil || used(b) != 100 {
			t.Errorf("after all ended: %v, %d used", err, used(b))
		} else {
			l.Release()
		}
	})
}

func TestResizeNeverWaits(t *testing.T) {
	t.Parallel()
	b := memory.NewBudget("test", 100)
	l := b.Lease()
	for _, n := range []int64{50, 500, 20, 0, 150, 100, 0} {
		l.Resize(n)
		if used(b) != n {
			t.Errorf("%d used after Resize(%d)", used(b), n)
		}
	}
	if _, err := b.Acquire(t.Context(), 100); err != nil {
		t.Error(err)
	}
}

func TestGrowOfContext(t *testing.T) {
	t.Parallel()
	b := memory.NewBudget("test", 100)
	ctx := context.Background()
	if err := memory.Grow(ctx, 1000); err != nil || used(b) != 0 {
		t.Errorf("without a lease: %v", err)
	}
	ctx = memory.With(ctx, b.Lease())
	if err := memory.Grow(ctx, 30); err != nil || used(b) != 30 {
		t.Errorf("%v, %d used, want 30", err, used(b))
	}
	if err := memory.Grow(memory.With(ctx, nil), 30); err != nil || used(b) != 30 {
		t.Errorf("%v, %d used, want 30", err, used(b))
	}
	var unlimited *memory.Budget
	if l, err := unlimited.Acquire(ctx, 1<<40); err != nil || l.Grow(ctx, 1<<40) != nil {
		t.Error("a budget without a limit refuses")
	}
}
