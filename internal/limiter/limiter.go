package limiter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Limiter bounds how much of a resource a node uses at once, and divides it among
// callers. A caller may use no more than what is free, so a single one gets at most
// half, and there is always room for another. A request that exceeds its share waits
// for a while and is then rejected.
type Limiter struct {
	what    string // for the error text
	limit   int64
	reserve int64         // of limit, for callers with scope admin
	wait    time.Duration // 0 to refuse at once

	mu      sync.Mutex
	used    int64
	refused int64
	of      map[string]int64 // what each caller uses
	freed   chan struct{}    // closed when something is released; nil if no request waits
}

// New returns a Limiter of what, a plural for error texts. It keeps reserve of limit for
// admins. A request waits up to wait for its share; if that is 0, it is refused at once.
func New(what string, limit, reserve int64, wait time.Duration) *Limiter {
	return &Limiter{what: what, limit: limit, reserve: reserve, wait: wait, of: map[string]int64{}}
}

// Acquire takes one for a caller. It returns core.ErrUnavailable if there is no room
// in the caller's share. The caller calls release once.
func (g *Limiter) Acquire(ctx context.Context, caller string, isAdmin bool) (release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.hasRoom(caller, isAdmin) {
		if err := g.waitForRoom(ctx, caller, isAdmin); err != nil {
			return nil, err
		}
	}
	g.used++
	g.of[caller]++
	return func() { g.release(caller) }, nil
}

func (g *Limiter) hasRoom(caller string, isAdmin bool) bool {
	free := g.limit - g.used
	if !isAdmin {
		free -= g.reserve
	}
	return g.of[caller] < free
}

// waitForRoom waits until the caller has room. g.mu is locked before and after.
func (g *Limiter) waitForRoom(ctx context.Context, caller string, isAdmin bool) error {
	ctx, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	for !g.hasRoom(caller, isAdmin) {
		if g.freed == nil {
			g.freed = make(chan struct{})
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		g.mu.Lock()
		if ctx.Err() != nil {
			g.refused++
			return fmt.Errorf("this node is busy (%d %s, %d of this caller): %w", g.used, g.what, g.of[caller], core.ErrUnavailable)
		}
	}
	return nil
}

func (g *Limiter) release(caller string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	if g.of[caller]--; g.of[caller] == 0 {
		delete(g.of, caller)
	}
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
}

// Stats returns how many are used, the limit, and how many requests were refused.
func (g *Limiter) Stats() (used, limit, refused int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used, g.limit, g.refused
}

// Full returns why only admins' requests are admitted, or nil.
func (g *Limiter) Full() error {
	if used, limit, _ := g.Stats(); used >= limit-g.reserve {
		return fmt.Errorf("this node is busy (%d %s)", used, g.what)
	}
	return nil
}
