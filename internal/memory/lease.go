package memory

import (
	"context"
	"sync"
)

// A Lease is the part of a budget that one caller holds. Its methods may be called
// concurrently.
type Lease struct {
	budget *Budget

	mu         sync.Mutex
	size       int64 // bytes that are held
	taken      int64 // of these, taken from the budget; the rest exceeds it
	overcommit bool
}

func (l *Lease) add(size, taken int64) {
	l.size += size
	l.taken += taken
	l.budget.used.Add(size)
}

// Small is how many bytes are added to a lease without waiting: callers that need
// little are not delayed by those that need much.
const Small = 256 << 10

// Grow adds n bytes, and waits for room unless that is less than Small. To avoid
// deadlock, one lease of the budget at a time may exceed it instead. Grow returns
// core.ErrUnavailable if there is no room within Timeout.
func (l *Lease) Grow(ctx context.Context, n int64) error {
	if l == nil || l.budget == nil || n <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.overcommit {
		l.add(n, 0)
		return nil
	}
	if n < Small && n < l.budget.limit {
		takes := n
		if !l.budget.sem.TryAcquire(n) {
			takes = 0
		}
		l.add(n, takes)
		return nil
	}
	takes := min(n, l.budget.limit-l.taken) // a lease cannot take more than all
	if l.budget.tryAcquire(takes) {
		l.add(n, takes)
		return nil
	}
	select {
	case l.budget.overcommit <- struct{}{}:
		l.overcommit = true
		l.add(n, 0)
		return nil
	default:
	}
	if err := l.budget.wait(ctx, takes); err != nil {
		return err
	}
	l.add(n, takes)
	return nil
}

// Resize sets the lease to n bytes without waiting: the memory is held already, or
// was given back. If the budget has no room for more, it is exceeded.
func (l *Lease) Resize(n int64) {
	if l == nil || l.budget == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	takes := max(0, min(n, l.budget.limit))
	switch {
	case takes < l.taken:
		l.budget.sem.Release(l.taken - takes)
		l.taken = takes
	case takes > l.taken && l.budget.sem.TryAcquire(takes-l.taken):
		l.taken = takes
	}
	l.budget.used.Add(n - l.size)
	l.size = n
	l.endOvercommit()
}

// Release gives the lease back. Further calls do nothing.
func (l *Lease) Release() { l.Resize(0) }

func (l *Lease) endOvercommit() {
	if l.overcommit {
		l.overcommit = false
		<-l.budget.overcommit
	}
}

type leaseKey struct{}

// Of returns the lease in ctx, nil if there is none.
func Of(ctx context.Context) *Lease {
	l, _ := ctx.Value(leaseKey{}).(*Lease)
	return l
}

// Beside returns an empty lease of the same budget.
func (l *Lease) Beside() *Lease {
	if l == nil {
		return nil
	}
	return l.budget.Lease()
}

// With returns a context whose reads are added to l. A nil l ends that.
func With(ctx context.Context, l *Lease) context.Context {
	return context.WithValue(ctx, leaseKey{}, l)
}

// Grow adds n bytes to the lease of ctx, if it has one. See Lease.Grow.
func Grow(ctx context.Context, n int64) error {
	return Of(ctx).Grow(ctx, n)
}
