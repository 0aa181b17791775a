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
	"github.com/sesslog/sesslog/internal/memory"
	"github.com/sesslog/sesslog/stream"
)

// A Cache keeps open sessions in memory, and drops the least recently used ones
// when they exceed its limit. Sessions grow while they are cached, so it weighs
// them again when it trims, which the materializer makes it do once a second. Its
// methods may be called from several goroutines.
type Cache struct {
	sessions *engine.Sessions
	limit    int64
	memory   *memory.Budget // of all sessions in memory; nil without a limit
	loads    singleflight.Group
	hits     atomic.Int64
	misses   atomic.Int64
	loading  chan struct{} // a slot for each load in progress

	mu    sync.Mutex
	byID  map[core.SessionID]*list.Element
	order *list.List // of *cached, most recently used first
	sum   int64      // of their weights
}

// A cached is a session in a Cache, and what makes its rows.
type cached struct {
	*engine.Session
	rows    rowMaker
	weight  int64         // its size when it was weighed last
	lease   *memory.Lease // its size, until it is dropped and no request uses it
	users   int           // pins that have it
	dropped bool
}

// NewCache returns an empty cache of up to limit bytes. It keeps one session even
// if that is larger.
func NewCache(sessions *engine.Sessions, limit int64) *Cache {
	return &Cache{sessions: sessions, limit: limit, loading: make(chan struct{}, maxLoads), byID: map[core.SessionID]*list.Element{}, order: list.New()}
}

// WithMemory makes the sessions count against a budget, which may make the cache drop
// those that are not in use. It returns c, and must be called before c is used.
func (c *Cache) WithMemory(b *memory.Budget) *Cache {
	c.memory = b
	b.OnShortage(c.free)
	return c
}

// Fresh returns the session in the state of the log's leader.
func (c *Cache) Fresh(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	if s := c.lookup(ctx, id); s != nil {
		return s, s.Refresh(ctx)
	}
	s, joined, err := c.load(ctx, id)
	switch {
	case !joined:
		return s, err
	case err == nil: // the joined load may have begun before this call
		return s, s.Refresh(ctx)
	case ctx.Err() != nil:
		return nil, err
	}
	s, _, err = c.load(ctx, id) // so may its error be outdated
	return s, err
}

// Window returns the end of a session as Fresh would return it, nil if it is not enough
// or the session is in memory.
func (c *Cache) Window(ctx context.Context, id core.SessionID) *core.Window {
	if c.kept(id) != nil {
		return nil
	}
	select {
	case c.loading <- struct{}{}:
		defer func() { <-c.loading }()
	case <-ctx.Done():
		return nil
	}
	return c.sessions.Window(ctx, id)
}

// Get returns the session from memory, or loads it. Its state may lag behind the
// log.
func (c *Cache) Get(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	if s := c.lookup(ctx, id); s != nil {
		return s, nil
	}
	s, _, err := c.load(ctx, id)
	return s, err
}

func (c *Cache) lookup(ctx context.Context, id core.SessionID) *engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok {
		return nil
	}
	c.hits.Add(1)
	c.order.MoveToFront(e)
	s := e.Value.(*cached)
	c.pin(ctx, s)
	return s.Session
}

// maxLoads limits concurrent loads: each takes a snapshot and the session made from
// it. A window counts as one.
const maxLoads = 16

// loadTime limits how long a session may take to load: a large snapshot from a slow
// store.
const loadTime = time.Minute

// load opens a session once for all concurrent callers, and reports whether it
// joined a load that had begun before. The load does not depend on the first
// caller's context.
func (c *Cache) load(ctx context.Context, id core.SessionID) (s *engine.Session, joined bool, err error) {
	own := false
	ch := c.loads.DoChan(string(id), func() (any, error) {
		if s := c.kept(id); s != nil { // loaded since the caller looked
			return s, nil
		}
		own = true
		c.misses.Add(1)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTime)
		defer cancel()
		select {
		case c.loading <- struct{}{}:
			defer func() { <-c.loading }()
		case <-ctx.Done():
			return nil, fmt.Errorf("session %s: this node already loads too many sessions: %w", id, core.ErrUnavailable)
		}
		lease := c.memory.Lease()
		if c.memory != nil {
			ctx = memory.With(ctx, lease)
		}
		s, err := c.sessions.Open(ctx, id)
		if err != nil {
			lease.Release()
			return nil, err
		}
		return c.put(s, lease), nil
	})
	select {
	case r := <-ch:
		if r.Err != nil {
			return nil, !own, r.Err
		}
		s := r.Val.(*cached)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pin(ctx, s)
		return s.Session, !own, nil
	case <-ctx.Done():
		return nil, false, fmt.Errorf("session %s did not load in time: %w: %w", id, ctx.Err(), core.ErrUnavailable)
	}
}

// contradicts reports whether the session in memory has another record in the place of
// ch. A session that is not in memory contradicts nothing.
func (c *Cache) contradicts(ch stream.Change) bool {
	s := c.kept(ch.Session)
	return s != nil && s.Contradicts(ch.Seq, ch.Chain)
}

// kept returns the session in memory, or nil.
func (c *Cache) kept(id core.SessionID) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[id]; ok {
		return e.Value.(*cached)
	}
	return nil
}

// Put keeps a session that the caller opened or created.
func (c *Cache) Put(s *engine.Session) { c.put(s, c.memory.Lease()) }

// put keeps a session, which lease paid for.
func (c *Cache) put(s *engine.Session, lease *memory.Lease) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[s.ID()]
	if ok && e.Value.(*cached).Session == s {
		lease.Release()
		c.order.MoveToFront(e)
		return e.Value.(*cached)
	}
	if ok {
		c.drop(e)
	}
	kept := &cached{Session: s, lease: lease}
	c.byID[s.ID()] = c.order.PushFront(kept)
	c.weigh(kept)
	if c.sum > c.limit {
		c.trim()
	}
	return kept
}

// weigh sets the weight of s, which is in the cache, to its current size.
func (c *Cache) weigh(s *cached) {
	size := s.Size()
	c.sum += size - s.weight
	s.weight = size
	s.lease.Resize(size)
}

// drop removes e from the cache. Callers that hold it may still use it, and it counts
// until the last one ends.
func (c *Cache) drop(e *list.Element) {
	s := e.Value.(*cached)
	c.order.Remove(e)
	delete(c.byID, s.ID())
	c.sum -= s.weight
	s.dropped = true
	if s.users == 0 {
		s.lease.Release()
	}
}

// rowsOf returns what makes the rows of s. It is kept with the cached session.
func (c *Cache) rowsOf(s *engine.Session) *rowMaker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[s.ID()]; ok && e.Value.(*cached).Session == s {
		return &e.Value.(*cached).rows
	}
	return new(rowMaker)
}

// shrink trims the cache while no session is added.
func (c *Cache) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
}

// trim drops the least recently used sessions until the rest fits, except those
// that have the only copy of lines (see engine.Session.HasPendingRepair) and those in
// use. It weighs each again.
func (c *Cache) trim() {
	var sum int64
	for e := c.order.Front(); e != nil; {
		next := e.Next()
		s := e.Value.(*cached)
		c.weigh(s)
		sum += s.weight
		if sum > c.limit && e != c.order.Front() && s.mayDrop() {
			c.drop(e)
		}
		e = next
	}
}

// mayDrop reports whether a session can be loaded again, and dropping it gives memory
// back.
func (s *cached) mayDrop() bool { return s.users == 0 && !s.HasPendingRepair() }

// free drops the least recently used sessions until their size is at least bytes.
func (c *Cache) free(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Back(); e != nil && bytes > 0; {
		before := e.Prev()
		if s := e.Value.(*cached); s.mayDrop() {
			bytes -= s.Size()
			c.drop(e)
		}
		e = before
	}
}

// Sessions returns the cached sessions, most recently used first.
func (c *Cache) Sessions() []*engine.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*engine.Session, 0, len(c.byID))
	for e := c.order.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*cached).Session)
	}
	return all
}

// Loads returns how many sessions are being loaded, and the limit.
func (c *Cache) Loads() (now, limit int) { return len(c.loading), cap(c.loading) }

// Stats returns how many sessions are cached, their size and the limit, in bytes.
func (c *Cache) Stats() (sessions int, bytes, limit int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.order.Front(); e != nil; e = e.Next() {
		bytes += e.Value.(*cached).Size()
	}
	return len(c.byID), bytes, c.limit
}

// Reads returns how many requests found the session in the cache, and how often one
// had to be loaded. Concurrent requests for a session share one load.
func (c *Cache) Reads() (hits, misses int64) { return c.hits.Load(), c.misses.Load() }

// Forget drops a session from memory. Callers that hold it may still use it.
func (c *Cache) Forget(id core.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byID[id]; ok {
		c.drop(e)
	}
}
