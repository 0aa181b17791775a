package follow

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A gate keeps workers from asking a node that takes nothing, and lets one ask
// now and then.
type gate struct {
	mu    sync.Mutex
	until time.Time
	pause time.Duration // zero while a node answers
}

// How long the pauses are.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// pass waits until the node may be asked. It returns false when ctx ends first.
func (g *gate) pass(ctx context.Context) bool {
	for ctx.Err() == nil {
		g.mu.Lock()
		wait := time.Until(g.until)
		if wait <= 0 {
			if g.pause > 0 { // whoever comes next waits for what this one hears
				g.until = time.Now().Add(g.pause)
			}
			g.mu.Unlock()
			return true
		}
		g.mu.Unlock()
		sleep(ctx, wait)
	}
	return false
}

// shut says that nothing was taken, and reports whether that is new.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	first := g.pause == 0
	g.pause = min(max(2*g.pause, firstPause), lastPause)
	g.until = time.Now().Add(g.pause/2 + rand.N(g.pause))
	return first
}

// open says that a node answered, and reports whether that is new.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.pause > 0
	g.pause, g.until = 0, time.Time{}
	return was
}

// sleep waits for d, or less where ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
