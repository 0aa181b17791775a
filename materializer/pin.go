package materializer

import (
	"context"
	"slices"
)

// A pin is the sessions that one caller of a Cache uses. c.mu guards it.
type pin struct {
	cache    *Cache
	sessions []*cached
	ended    bool
}

type pinKey struct{}

// Pin returns a context in which the sessions that the cache returns count as used
// until release is called: they are in memory, so they count against its budget, and
// the cache does not load a second copy of them.
func (c *Cache) Pin(ctx context.Context) (_ context.Context, release func()) {
	p := &pin{cache: c}
	return context.WithValue(ctx, pinKey{}, p), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.ended = true
		for _, s := range p.sessions {
			if s.users--; s.users == 0 && s.dropped {
				s.lease.Release()
			}
		}
	}
}

// pin adds s to the pin of ctx, if it has one. The caller has locked c.mu.
func (c *Cache) pin(ctx context.Context, s *cached) {
	p, _ := ctx.Value(pinKey{}).(*pin)
	if p == nil || p.cache != c || p.ended || slices.Contains(p.sessions, s) {
		return
	}
	p.sessions = append(p.sessions, s)
	s.users++
	if s.dropped {
		s.lease.Resize(s.Size())
	}
}
