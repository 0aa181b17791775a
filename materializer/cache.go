package materializer

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
)

// A Cache keeps open sessions, the least recently used of which it forgets when
// they take more than its limit. A session grows while it is kept, which is why
// this is no library's cache: they weigh an item once. Its methods may be called
// from several goroutines.
type Cache struct {
	sessions *engine.Sessions
	limit    int64
	loads    singleflight.Group
	hits     atomic.Int64
	misses   atomic.Int64
	loading  chan struct{} // a place for each load at work

	mu    sync.Mutex
	byID  map[core.SessionID]*list.Element
	order *list.List // of *engine.Session, the latest used first
}

// NewCache returns an empty cache of up to limit bytes. One session is kept
// even when it is larger.
func NewCache(sessions *engine.Sessions, limit int64) *Cache {
	return &Cache{sessions: sessions, limit: limit, loading: make(chan struct{}, maxLoads), byID: map[core.SessionID]*list.Element{}, order: list.New()}
}

// Fresh returns the session as its log's leader has it.
func (c *Cache) Fresh(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	if s := c.lookup(id); s != nil {
		return s, s.Refresh(ctx)
	}
	s, joined, err := c.load(ctx, id)
	switch {
	case !joined:
		return s, err
	case err == nil: // it was asked for, and perhaps read, before this call
		return s, s.Refresh(ctx)
	case ctx.Err() != nil:
		return nil, err
	}
	s, _, err = c.load(ctx, id) // the same of an error: that it is not there, say
	return s, err
}

// Get returns the session as it is in memory, loaded where it is not. Its state
// may lag behind the log's.
func (c *Cache) Get(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	if s := c.lookup(id); s != nil {
		return s, nil
	}
	s, _, err := c.load(ctx, id)
	return s, err
}

func (c *Cache) lookup(id core.SessionID) *engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		c.misses.Add(1)
		return nil
	}
	c.hits.Add(1)
	c.order.MoveToFront(e)
	return e.Value.(*engine.Session)
}

// maxLoads bounds the sessions that are loaded at once: each takes its snapshot
// and what becomes of it.
const maxLoads = 16

// loadTime is how long a session may take to load: a large snapshot from a slow
// store.
const loadTime = time.Minute

// load opens a session once however many ask for it, and reports whether it
// joined others who had asked before. Who asked first may go away without harm to
// the others.
func (c *Cache) load(ctx context.Context, id core.SessionID) (s *engine.Session, joined bool, err error) {
	own := false
	ch := c.loads.DoChan(string(id), func() (any, error) {
		own = true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
		defer cancel()
		select {
		case c.loading <- struct{}{}:
			defer func() { <-c.loading }()
		case <-ctx.Done():
			return nil, fmt.Errorf("session %s: this node loads too many sessions already: %w", id, core.ErrUnavailable)
		}
		s, err := c.sessions.Open(ctx, id)
		if err == nil {
			c.Put(s)
		}
		return s, err
	})
	select {
	case r := <-ch:
		if r.Err != nil {
			return nil, !own, r.Err
		}
		return r.Val.(*engine.Session), !own, nil
	case <-ctx.Done():
		return nil, false, fmt.Errorf("session %s does not load in time: %w: %w", id, ctx.Err(), core.ErrUnavailable)
	}
}

// Put keeps a session that somebody opened or made.
func (c *Cache) Put(s *engine.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[s.ID()]; ok {
		e.Value = s
		c.order.MoveToFront(e)
	} else {
		c.byID[s.ID()] = c.order.PushFront(s)
	}
	c.trim()
}

// shrink forgets sessions that the others have outgrown the room of: they grow
// while they are kept, and then nobody puts one in.
func (c *Cache) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
}

// trim forgets the oldest sessions until the rest fit, but none that has the only
// copy of lines (see engine.Session.Owes). Each is asked for its
// size anew: the sum is what they take now.
func (c *Cache) trim() {
	var sum int64
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		s := e.Value.(*engine.Session)
		sum += s.Size()
		if sum > c.limit && e != c.order.Front() && !s.Owes() {
			c.order.Remove(e)
			delete(c.byID, s.ID())
		}
		e = next
	}
}

// Sessions returns the sessions that are kept, the latest used first.
func (c *Cache) Sessions() []*engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*engine.Session, 0, len(c.byID))
	for e := c.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*engine.Session))
	}
	return all
}

// Loads returns how many sessions are being loaded, and how many can be at once.
func (c *Cache) Loads() (now, limit int) { return len(c.loading), cap(c.loading) }

// Stats returns how many sessions are kept and what they take.
func (c *Cache) Stats() (sessions int, bytes, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		bytes += e.Value.(*engine.Session).Size()
	}
	return len(c.byID), bytes, c.limit
}

// Reads returns how often a session that was asked for was in the cache, and how
// often it was not, since the cache was made.
func (c *Cache) Reads() (hits, misses int64) { return c.hits.Load(), c.misses.Load() }
