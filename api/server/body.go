package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/storage"
	"github.com/sesslog/sesslog/internal/memory"
)

// readBody returns the request's body. The caller calls release when it no longer
// uses it. It reserves memory as bytes arrive, not as announced.
func (s *Server) readBody(r *http.Request) (body []byte, release func(), err error) {
	most := callerOf(r.Context()).body(s.cfg.MaxBody)
	if r.ContentLength > most {
		return nil, nil, fmt.Errorf("the body has %d bytes, %d are allowed (limits.body, or the token's): %w", r.ContentLength, most, core.ErrTooLarge)
	}
	small, large := s.limiters.small.Lease(), s.limiters.memory.Lease()
	release = func() { small.Release(); large.Release() }
	var b []byte
	for {
		if len(b) == cap(b) {
			// Double the buffer, up to slightly more than the limit, so that the
			// last read detects a body that exceeds it.
			more := min(max(int64(cap(b)), firstBuffer(r.ContentLength)), most+4096-int64(cap(b)))
			lease := small
			if int64(cap(b))+more > smallBody {
				lease = large
			}
			if err := lease.Grow(r.Context(), more); err != nil {
				release()
				return nil, nil, err
			}
			b = append(make([]byte, 0, int64(cap(b))+more), b...)
		}
		n, err := r.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == nil {
			continue
		}
		if err != io.EOF {
			release()
			return nil, nil, bodyError(len(b), err)
		}
		if len(b) <= smallBody {
			return b, release, nil
		}
		if err := large.Grow(r.Context(), bodyWork*int64(len(b))); err != nil {
			release()
			return nil, nil, err
		}
		return b, release, nil
	}
}

// firstBuffer returns the size of the buffer for the beginning of a body that is
// announced with n bytes, or with -1. Most bodies are one line, for which a large buffer
// would be most of what a request allocates. The last read needs a byte more.
func firstBuffer(n int64) int64 {
	if n < 0 {
		return 4 << 10
	}
	return min(n+1, 64<<10)
}

// bodyWork is how many bytes the work on a large body takes for each of it: the
// entries with their ids, the record's body, and its compressed form.
const bodyWork = 3

func bodyError(n int, err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("the body has more than %d bytes (limits.body, or the token's): %w", n, core.ErrTooLarge)
	}
	return fmt.Errorf("the body broke off after %d bytes: %v: %w", n, err, core.ErrInvalid)
}

// fetchTimeout is how long a large body may take to arrive from the blob store.
const fetchTimeout = time.Minute

// uncountedBody is the size below which a body counts as a part of its follower.
const uncountedBody = 16 << 10

// sharedBodies holds the bodies of records that are being sent to followers, each
// once: memory use does not grow with the number of slow followers of the same
// record.
type sharedBodies struct {
	sent *memory.Budget
	mu   sync.Mutex
	held map[core.Chain]*sharedBody
}

// A sharedBody is being fetched until ready is closed.
type sharedBody struct {
	users int
	ready chan struct{}
	body  []byte
	err   error
	lease *memory.Lease
}

func newSharedBodies(sent *memory.Budget) *sharedBodies {
	return &sharedBodies{sent: sent, held: map[core.Chain]*sharedBody{}}
}

// take returns the body of z. The caller must not change it, and calls release
// when it no longer uses it. It returns core.ErrUnavailable if there is no room
// for the body.
func (b *sharedBodies) take(ctx context.Context, z *storage.Lazy) (body []byte, release func(), err error) {
	if z.Packed.Weight() < uncountedBody {
		body, err = z.Body(ctx)
		return body, func() {}, err
	}
	b.mu.Lock()
	h := b.held[z.Chain]
	if h == nil {
		h = &sharedBody{ready: make(chan struct{})}
		b.held[z.Chain] = h
		go b.fetch(context.WithoutCancel(ctx), z, h)
	}
	h.users++
	b.mu.Unlock()
	release = func() { b.release(z.Chain, h) }
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

// fetch continues if the first caller leaves, because others may wait for the
// body.
func (b *sharedBodies) fetch(ctx context.Context, z *storage.Lazy, h *sharedBody) {
	defer close(h.ready)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	h.lease = b.sent.Lease()
	if h.err = h.lease.Grow(ctx, z.Packed.Weight()); h.err != nil {
		return
	}
	h.body, h.err = z.Body(memory.With(ctx, nil))
}

// release ends one use of h.
func (b *sharedBodies) release(key core.Chain, h *sharedBody) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if b.held[key] == h {
		delete(b.held, key)
	}
	go func() { // the fetch may still run
		<-h.ready
		h.lease.Release()
	}()
}
