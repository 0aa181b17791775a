package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
)

func TestLimiterRejectsAboveLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New("things", 4, 0, 5*time.Second)
		take := func(ctx context.Context, caller string) (func(), error) { return g.Acquire(ctx, caller, false) }
		var held []func()
		for _, caller := range []string{"one", "one", "two"} {
			release, err := take(t.Context(), caller)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, release)
		}
		began := time.Now()
		if _, err := take(t.Context(), "two"); !errors.Is(err, core.ErrUnavailable) || time.Since(began) != 5*time.Second {
			t.Errorf("acquire above the limit, after %v: %v", time.Since(began), err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			release, err := take(t.Context(), "two")
			if err != nil {
				t.Errorf("acquire after a release: %v", err)
				return
			}
			release()
		})
		time.Sleep(time.Second)
		held[0]()
		wg.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := take(ended, "one"); err != nil {
			t.Errorf("a canceled caller that need not wait: %v", err)
		}
		if _, err := take(ended, "two"); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("a canceled caller: %v", err)
		}
		if used, limit, refused := g.Stats(); used != 3 || limit != 4 || refused != 2 {
			t.Errorf("at the end: %d of %d, %d refused", used, limit, refused)
		}
	})
}

// However many callers take what they get, there is room for another, until only
// what is kept for admins is left.
func TestLimiterLeavesRoomForOthersAndAdmins(t *testing.T) {
	t.Parallel()
	g := New("things", 1000, 50, 0)
	var all []func()
	take := func(caller string, isAdmin bool) (n int64) {
		for {
			release, err := g.Acquire(t.Context(), caller, isAdmin)
			if errors.Is(err, core.ErrUnavailable) {
				return n
			}
			all = append(all, release)
			n++
		}
	}
	if n := take("one", false); n != 475 {
		t.Errorf("the first caller gets %d of 1000", n)
	}
	for i := 0; g.Full() == nil; i++ {
		if n := take(fmt.Sprint("caller ", i), false); n == 0 {
			t.Fatalf("caller %d gets nothing although the node is not full", i)
		}
	}
	if n := take("late", false); n != 0 {
		t.Errorf("a caller of a full node gets %d", n)
	}
	if n := take("admin", true); n != 25 {
		t.Errorf("an admin gets %d of the last 50", n)
	}
	for _, release := range all {
		release()
	}
	if used, _, _ := g.Stats(); used != 0 || len(g.of) != 0 || g.Full() != nil {
		t.Errorf("at the end: %d, %v", used, g.of)
	}
}
