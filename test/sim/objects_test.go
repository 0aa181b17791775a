package sim

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A call is a pending request to the object store.
type call struct {
	node string
	what string
	do   func(fails, lies bool)
	done chan struct{}
}

// A shelf is one node's view of the object store: a storage.Blobs and an engine.Snapshots.
type shelf struct {
	w    *world
	node string
}

// call waits until the world executes f.
func (s shelf) call(ctx context.Context, what string, f func(fails, lies bool)) error {
	c := &call{node: s.node, what: s.node + " " + what, do: f, done: make(chan struct{})}
	s.w.mu.Lock()
	if !s.w.gone[s.node] {
		s.w.calls = append(s.w.calls, c)
	}
	s.w.mu.Unlock()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("object store: %w: %w", core.ErrUnavailable, ctx.Err())
	}
}

var errObjects = fmt.Errorf("object store: %w", core.ErrUnavailable)

func (s shelf) Put(ctx context.Context, b []byte) (core.Digest, error) {
	d := core.DigestOf(b)
	return d, s.put(ctx, d.String(), b)
}

func (s shelf) put(ctx context.Context, key string, b []byte) error {
	b = bytes.Clone(b)
	err := errObjects
	if cerr := s.call(ctx, "put "+key, func(fails, lies bool) {
		if !fails || lies { // it is stored, but the answer is lost
			s.w.objects[key] = b
		}
		if !fails {
			err = nil
		}
	}); cerr != nil {
		return cerr
	}
	return err
}

func (s shelf) get(ctx context.Context, key string) (b []byte, err error) {
	err = errObjects
	cerr := s.call(ctx, "get "+key, func(fails, lies bool) {
		if fails {
			return
		}
		var ok bool
		if b, ok = s.w.objects[key]; !ok {
			err = fmt.Errorf("object %s: %w", key, core.ErrNotFound)
			return
		}
		err = nil
		if lies && len(b) > 0 {
			b = bytes.Clone(b)
			b[len(b)/2] ^= 1
		}
	})
	if cerr != nil {
		return nil, cerr
	}
	return b, err
}

func (s shelf) Get(ctx context.Context, d core.Digest) ([]byte, error) {
	b, err := s.get(ctx, d.String())
	if err == nil && core.DigestOf(b) != d {
		return nil, fmt.Errorf("object %s is other bytes: %w", d, core.ErrCorrupt)
	}
	return b, err
}

// Load implements engine.Snapshots.
func (s shelf) Load(ctx context.Context, m *core.Manifest) (plain []byte, checked func() error, err error) {
	if len(m.Parts) > 0 {
		plain, err = s.compose(ctx, m.Parts)
	} else {
		plain, err = s.get(ctx, m.Object)
	}
	return plain, func() error {
		if core.DigestOf(plain) != m.SHA256 {
			return fmt.Errorf("snapshot %s is damaged: %w", m.Object, core.ErrCorrupt)
		}
		return nil
	}, err
}

// serve executes one pending call.
func (w *world) serve(c *call) {
	w.note("%s", c.what)
	fails := w.happens(w.weather.objectFails, "object store fails")
	lies := w.happens(w.weather.objectLies, "object store gives wrong bytes, or loses an answer")
	c.do(fails, lies)
	close(c.done)
}
