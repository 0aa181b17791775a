package blobstore

import (
	"bytes"
	"container/list"
	"sync"
)

// maxShare bounds a single blob to 1/maxShare of a cache, so that it does not
// evict most others.
const maxShare = 4

// A cache is an LRU cache of blobs, bounded by their total size. It holds verified
// bytes only. A nil cache is always empty.
type cache struct {
	size   int64
	mu     sync.Mutex
	used   int64
	hits   int64
	misses int64
	recent list.List // of *cached, most recently used first
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

// add caches a copy of p and evicts the least recently used blobs.
func (c *cache) add(ref Ref, p []byte) {
	if c == nil || int64(len(p)) > c.size/maxShare {
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

// CacheStats describes a cache: its content, and its hits and misses since it was
// opened.
type CacheStats struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Limit   int64 `json:"limit"` // in bytes; 0 if there is no cache
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	Damaged int64 `json:"damaged,omitempty"` // misses caused by corrupt files
	Failed  int64 `json:"failed,omitempty"`  // blobs that could not be written to the disk
}

func (c *cache) stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{Objects: int64(len(c.byRef)), Bytes: c.used, Limit: c.size, Hits: c.hits, Misses: c.misses}
}
