package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/sesslog/sesslog/core"
)

// workers owns the goroutines of Sessions: one for each session with a queue, and
// one for each session with waiting strict reads. Each ends when its queue is
// empty.
type workers struct {
	ctx     context.Context // ends when unfinished work is canceled
	cancel  context.CancelFunc
	closing context.Context // ends when Close begins
	close   context.CancelFunc

	mu      sync.Mutex // orders start before Close's wait
	closed  bool
	running sync.WaitGroup
}

func newWorkers() *workers {
	w := &workers{}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.closing, w.close = context.WithCancel(w.ctx)
	return w
}

// start runs f in a goroutine. After Close it returns core.ErrUnavailable.
func (w *workers) start(f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("this node is shutting down: %w", core.ErrUnavailable)
	}
	w.running.Go(func() {
		growStack()
		f()
	})
	return nil
}

// growStack makes the goroutine's stack large enough for an append. Otherwise it grows in
// several steps with deep frames to copy, which is a fifth of the engine's processor time.
//
//go:noinline
func growStack() {
	var frame [12 << 10]byte
	touch(&frame)
}

//go:noinline
func touch(*[12 << 10]byte) {}

// Close stops ss, and the Sessions that WithLog and WithSnapshots made from it. New
// appends to idle sessions and new strict reads fail with core.ErrUnavailable. Close
// waits for those that are queued; when ctx ends, it cancels them and returns after
// their goroutines have ended. It may be called more than once.
func (ss *Sessions) Close(ctx context.Context) {
	w := ss.workers
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.close()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.running.Wait()
	w.cancel()
}
