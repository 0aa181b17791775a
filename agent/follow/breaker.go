package follow

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sesslog/sesslog/internal/retry"
)

// A breaker is a circuit breaker: while the node accepts nothing, it lets one
// worker through at a time, with exponential backoff.
type breaker struct {
	mu    sync.Mutex
	until time.Time
	pause time.Duration // zero while the node answers
}

const (
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second
)

// wait waits until the node may be asked. It returns false if ctx ends first.
func (b *breaker) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		b.mu.Lock()
		wait := time.Until(b.until)
		if wait <= 0 {
			if b.pause > 0 { // the others wait for this attempt
				b.until = time.Now().Add(b.pause)
			}
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		_ = retry.Wait(ctx, wait)
	}
	return false
}

// fail records a failed request, and reports whether it is the first.
func (b *breaker) fail() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := b.pause == 0
	b.pause = min(max(2*b.pause, minPause), maxPause)
	b.until = time.Now().Add(b.pause/2 + rand.N(b.pause))
	return first
}

// succeed records an answer, and reports whether it is the first after a failure.
func (b *breaker) succeed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := b.pause > 0
	b.pause, b.until = 0, time.Time{}
	return failed
}
