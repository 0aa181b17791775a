package memory

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sesslog/sesslog/core"
)

// Timeout is how long a lease waits for room.
const Timeout = 10 * time.Second

// A Budget is how many bytes may be held for callers at once. Its methods may be
// called concurrently. A nil *Budget has no limit.
type Budget struct {
	what       string // for the error text
	limit      int64
	sem        *semaphore.Weighted
	overcommit chan struct{} // held by the one lease that grows beyond the limit
	used       atomic.Int64
	refused    atomic.Int64
	reclaim    atomic.Pointer[func(int64)]
}

// NewBudget returns a budget of limit bytes. what names them in errors.
func NewBudget(what string, limit int64) *Budget {
	return &Budget{what: what, limit: limit, sem: semaphore.NewWeighted(limit), overcommit: make(chan struct{}, 1)}
}

// OnShortage makes free be called before a lease waits, with the bytes that it
// needs. free releases leases of what can be read again.
func (b *Budget) OnShortage(free func(bytes int64)) {
	if b != nil {
		b.reclaim.Store(&free)
	}
}

// Stats returns the bytes that are held, the limit, and how many leases did not get
// room. What a single lease holds beyond the limit counts as held.
func (b *Budget) Stats() (used, limit, refused int64) {
	return b.used.Load(), b.limit, b.refused.Load()
}

// Acquire returns a lease of n bytes, or of the whole budget if n is larger. It
// returns core.ErrUnavailable if there is no room within Timeout.
func (b *Budget) Acquire(ctx context.Context, n int64) (*Lease, error) {
	l := b.Lease()
	if b == nil {
		return l, nil
	}
	n = min(n, b.limit)
	if err := b.wait(ctx, n); err != nil {
		return nil, err
	}
	l.add(n, n)
	return l, nil
}

// Lease returns an empty lease, for a caller that learns its needs incrementally.
func (b *Budget) Lease() *Lease { return &Lease{budget: b} }

func (b *Budget) tryAcquire(n int64) bool {
	if b.sem.TryAcquire(n) {
		return true
	}
	if free := b.reclaim.Load(); free != nil {
		(*free)(n)
	}
	return b.sem.TryAcquire(n)
}

func (b *Budget) wait(ctx context.Context, n int64) error {
	if b.tryAcquire(n) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if b.sem.Acquire(ctx, n) == nil {
		return nil
	}
	b.refused.Add(1)
	return fmt.Errorf("this node is busy (%d of %d MiB of %s in use): %w", b.used.Load()>>20, b.limit>>20, b.what, core.ErrUnavailable)
}
