package server

import (
	"context"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
)

// fetchTime is how long a large body may take to come from the blob store.
const fetchTime = time.Minute

// bodies holds the bodies of records that are on their way to followers, each
// once however many wait for it: followers that take nothing cost the node the
// records they stand at, not that times their number.
type bodies struct {
	large *gate
	mu    sync.Mutex
	held  map[core.Chain]*held
}

// A held body is being fetched until ready is closed.
type held struct {
	users   int
	ready   chan struct{}
	body    []byte
	err     error
	release func()
}

func newBodies(large *gate) *bodies { return &bodies{large: large, held: map[core.Chain]*held{}} }

// take returns the body of z, which the caller may not change and gives back by
// calling release. core.ErrUnavailable when there is no room for it.
func (b *bodies) take(ctx context.Context, z *core.Lazy) (body []byte, release func(), err error) {
	if z.Packed.Weight() < smallBody {
		body, err = z.Body(ctx)
		return body, func() {}, err
	}
	b.mu.Lock()
	h := b.held[z.Chain]
	if h == nil {
		h = &held{ready: make(chan struct{})}
		b.held[z.Chain] = h
		go b.fetch(context.WithoutCancel(ctx), z, h)
	}
	h.users++
	b.mu.Unlock()
	release = func() { b.give(z.Chain, h) }
	select {
	case <-h.ready:
	case <-ctx.Done():
		release()
		return nil, nil, ctx.Err()
	}
	if h.err != nil {
		release()
		return nil, nil, h.err
	}
	return h.body, release, nil
}

// fetch goes on when who asked first has gone: others may wait for it.
func (b *bodies) fetch(ctx context.Context, z *core.Lazy, h *held) {
	defer close(h.ready)
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	free, err := b.large.take(ctx, z.Packed.Weight())
	if err != nil {
		h.err = err
		return
	}
	h.release = free
	h.body, h.err = z.Body(ctx)
}

// give ends one use of h.
func (b *bodies) give(key core.Chain, h *held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if b.held[key] == h {
		delete(b.held, key)
	}
	go func() { // it may still be on its way
		<-h.ready
		if h.release != nil {
			h.release()
		}
	}()
}
