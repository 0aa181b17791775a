package blobstore

import (
	"bytes"
	"container/list"
	"sync"
)

// cacheShare bounds a single blob to that part of a cache: a larger one is not
// worth all the others it would drive out.
const cacheShare = 4

// A cache keeps the blobs last used, bounded by the bytes they have together.
// A nil cache keeps nothing. What is in it was checked and is never written to,
// so it cannot become wrong.
type cache struct {
	size   int64
	mu     sync.Mutex
	used   int64
	hits   int64
	misses int64
	recent list.List // of *cached, the last used first
	byRef  map[Ref]*list.Element
}

type cached struct {
	ref   Ref
	bytes []byte
}

func newCache(size int64) *cache {
	return &cache{size: size, byRef: make(map[Ref]*list.Element)}
}

// get returns the bytes of ref, which the caller must not change.
func (c *cache) get(ref Ref) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byRef[ref]
	if !ok {
		c.misses++
		return nil, false
	}
	c.hits++
	c.recent.MoveToFront(e)
	return e.Value.(*cached).bytes, true
}

// add keeps a copy of p and lets go of what was not used for longest.
func (c *cache) add(ref Ref, p []byte) {
	if c == nil || int64(len(p)) > c.size/cacheShare {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byRef[ref]; ok {
		return
	}
	c.byRef[ref] = c.recent.PushFront(&cached{ref: ref, bytes: bytes.Clone(p)})
	c.used += int64(len(p))
	for c.used > c.size {
		last := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.byRef, last.ref)
		c.used -= int64(len(last.bytes))
	}
}

func (c *cache) has(ref Ref) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.byRef[ref]
	return ok
}

// drop lets go of ref.
func (c *cache) drop(ref Ref) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byRef[ref]
	if !ok {
		return
	}
	c.recent.Remove(e)
	delete(c.byRef, ref)
	c.used -= int64(len(e.Value.(*cached).bytes))
}

// CacheFigures are how a cache fares: what is in it, and since it was opened how
// often a read found what it wanted.
type CacheFigures struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Limit   int64 `json:"limit"` // of bytes; 0 where there is no cache
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	Damaged int64 `json:"damaged,omitempty"` // misses because of wrong bytes on the disk
	Failed  int64 `json:"failed,omitempty"`  // bytes that could not be written to the disk
}

func (c *cache) figures() CacheFigures {
	if c == nil {
		return CacheFigures{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheFigures{Objects: int64(len(c.byRef)), Bytes: c.used, Limit: c.size, Hits: c.hits, Misses: c.misses}
}
