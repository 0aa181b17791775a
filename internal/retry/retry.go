package retry

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	shortest = 2 * time.Millisecond
	short    = 50 * time.Millisecond
	longest  = 250 * time.Millisecond
)

var (
	mu   sync.Mutex
	seed *uint64 // nil: random
)

// Between returns a random duration d with low <= d < high.
func Between(low, high time.Duration) time.Duration {
	mu.Lock()
	defer mu.Unlock()
	if seed == nil {
		return low + rand.N(high-low)
	}
	r := rand.New(rand.NewPCG(*seed, uint64(time.Now().UnixNano())))
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// Seed makes every duration that this process draws from now on a function of s
// and of the time at which it is drawn. It is for simulations, which run in
// virtual time.
func Seed(s uint64) {
	mu.Lock()
	defer mu.Unlock()
	seed = &s
}

// Pause waits 2 to 50 ms. It returns ctx's error if ctx ends first.
func Pause(ctx context.Context) error {
	return Wait(ctx, Between(shortest, short))
}

// PauseSince is Pause for a caller that has been trying since began: after 200 ms
// its pauses grow with the time spent, up to 250 ms, so that many waiting callers
// do not keep a busy server busy.
func PauseSince(ctx context.Context, began time.Time) error {
	return Wait(ctx, Between(shortest, min(max(time.Since(began)/4, short), longest)))
}

// Wait waits for d. It returns ctx's error if ctx ends first.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
