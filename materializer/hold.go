package materializer

import (
	"context"
	"slices"
)

// A hold is the sessions that one caller of a Cache uses. c.mu guards it.
type hold struct {
	cache *Cache
	held  []*cached
	ended bool
}

type holdKey struct{}

// Hold returns a context in which the sessions that the cache returns count as used
// until release is called: they are in memory, so they count against its budget, and
// the cache does not load a second copy of them.
func (c *Cache) Hold(ctx context.Context) (_ context.Context, release func()) {
	h := &hold{cache: c}
	return context.WithValue(ctx, holdKey{}, h), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		h.ended = true
		for _, s := range h.held {
			if s.users--; s.users == 0 && s.dropped {
				s.lease.Release()
			}
		}
	}
}

// hold adds s to the hold of ctx, if it has one. The caller has locked c.mu.
func (c *Cache) hold(ctx context.Context, s *cached) {
	h, _ := ctx.Value(holdKey{}).(*hold)
	if h == nil || h.cache != c || h.ended || slices.Contains(h.held, s) {
		return
	}
	h.held = append(h.held, s)
	s.users++
	if s.dropped {
		s.lease.Resize(s.Size())
	}
}
