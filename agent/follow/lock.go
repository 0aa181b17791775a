package follow

import "context"

// A lock is a mutex whose Lock can be canceled: the owner of a file's lock may be
// waiting for a node.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// lock returns ctx's error, without the lock, if ctx ends first.
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
