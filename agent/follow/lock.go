package follow

import "context"

// A lock is a mutex that can be waited for until a context ends: who holds a
// file's may be waiting for a node.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// lock returns ctx's error where that ends first; then nothing is held.
func (l lock) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lock) try() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l lock) unlock() { <-l }
