package materializer_test

import (
	"testing"

	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/materializer"
)

func usedOf(b *memory.Budget) int64 {
	used, _, _ := b.Stats()
	return used
}

// A session that a caller pins is in memory, so it counts until the caller ends, and
// the cache hands out the same one instead of loading a second copy.
func TestSessionsInUseCountAgainstMemory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{"session-one", "session-two"} {
		add(t, r.create(t, id), 100)
	}
	budget := memory.NewBudget("test", 1<<20)
	sessions := engine.NewSessions(engine.Config{Log: engine.Plain(r.log), Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	cache := materializer.NewCache(sessions, 1).WithMemory(budget) // one session at a time
	ctx, end := cache.Pin(t.Context())
	one, err := cache.Get(ctx, "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Get(t.Context(), "session-two"); err != nil {
		t.Fatal(err)
	}
	if again, err := cache.Get(t.Context(), "session-one"); err != nil || again != one {
		t.Errorf("a session in use was loaded again: %v", err)
	}
	cache.Forget("session-one")
	if used := usedOf(budget); used < one.Size() {
		t.Errorf("%d bytes are used, the session in use has %d", used, one.Size())
	}
	before := usedOf(budget)
	end()
	if freed := before - usedOf(budget); freed != one.Size() {
		t.Errorf("%d bytes were freed, the session has %d", freed, one.Size())
	}
}

// Sessions that no request uses are dropped before a request is refused.
func TestShortageDropsCachedSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	add(t, r.create(t, "session-one"), 100)
	add(t, r.create(t, "session-two"), 100)
	budget := memory.NewBudget("test", 1<<20)
	sessions := engine.NewSessions(engine.Config{Log: engine.Plain(r.log), Snapshots: r.snapshots, Dialects: dialect.All(), Logger: r.quiet})
	cache := materializer.NewCache(sessions, 1<<20).WithMemory(budget)
	ctx, end := cache.Pin(t.Context())
	defer end()
	one, err := cache.Get(ctx, "session-one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Get(t.Context(), "session-two"); err != nil {
		t.Fatal(err)
	}
	lease, err := budget.Acquire(t.Context(), 1<<20-one.Size())
	if err != nil {
		t.Fatalf("there is no room besides the session in use: %v", err)
	}
	lease.Release()
	if left := cache.Sessions(); len(left) != 1 || left[0] != one {
		t.Errorf("%d sessions are left, want the one in use", len(left))
	}
}
