package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sesslog/sesslog/session/loop"
)

// ErrClosed is returned for a sandbox that was closed.
var ErrClosed = errors.New("the sandbox is closed")

// ErrNoTarget is returned by Require for a slot without a sandbox and a backend.
var ErrNoTarget = errors.New("the session has no sandbox; call To or Bind")

// A Box is an open sandbox. Its methods are safe for concurrent use. Names of files
// are below its directory.
type Box interface {
	// Run runs a command of the shell. A command that ends has no error, whatever
	// its exit code.
	Run(ctx context.Context, command string) (loop.Command, error)
	Read(name string) (loop.File, error)
	Write(name string, data []byte) (loop.Written, error)
	Close() error
}

// A Spec says what a sandbox is like. A number of 0 is no limit, except for Timeout.
type Spec struct {
	Dir     string
	Env     []string      // NAME=value, besides PATH, HOME, LANG and TMPDIR of the host
	Timeout time.Duration // of a command; default 2 minutes
	CPU     time.Duration // of each process of a command
	Memory  int64         // bytes of addresses of each process
	File    int64         // bytes of each file that a command writes
}

// An Opener opens a sandbox.
type Opener func(context.Context, Spec) (Box, error)

// A Handle is an open sandbox with a count of the slots that hold it. When the last
// one releases it, it is closed.
type Handle struct {
	Box
	mu     sync.Mutex
	refs   int
	closed bool
}

// NewHandle returns a handle that no slot holds yet.
func NewHandle(b Box) *Handle { return &Handle{Box: b} }

// Refs returns the number of slots that hold h.
func (h *Handle) Refs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refs
}

// Close closes the sandbox, whichever slots hold it. They return ErrClosed then.
func (h *Handle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.close()
}

// close closes the sandbox once. The caller holds mu.
func (h *Handle) close() error {
	if h.closed {
		return nil
	}
	h.closed = true
	return h.Box.Close()
}

func (h *Handle) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func (h *Handle) acquire() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	h.refs++
	return nil
}

func (h *Handle) release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refs--
	if h.refs > 0 {
		return nil
	}
	return h.close()
}

// A Slot is where the tools of one session work: a backend to open a sandbox with, and
// the handle of the open one. Its methods are safe for concurrent use.
type Slot struct {
	openers map[string]Opener

	mu      sync.Mutex
	backend string
	spec    Spec
	handle  *Handle // nil if none is open
}

// New returns an empty slot.
func New(openers map[string]Opener) *Slot { return &Slot{openers: openers} }

// To makes a backend the target, and releases the handle. The next Require opens a
// sandbox.
func (s *Slot) To(backend string, spec Spec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend, s.spec = backend, spec
	return s.set(nil)
}

// Bind takes a reference to h, and releases the previous handle. It does nothing if h
// is that one, and returns ErrClosed if h is closed or nil.
func (s *Slot) Bind(h *Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch h {
	case nil:
		return ErrClosed
	case s.handle:
		return nil
	}
	if err := h.acquire(); err != nil {
		return err
	}
	return s.set(h)
}

// Require returns the handle. It opens the sandbox if there is none. It returns
// ErrClosed if the handle was closed: call To or Bind then.
func (s *Slot) Require(ctx context.Context) (*Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.handle != nil && s.handle.isClosed():
		return nil, ErrClosed
	case s.handle != nil:
		return s.handle, nil
	case s.backend == "":
		return nil, ErrNoTarget
	}
	open, ok := s.openers[s.backend]
	if !ok {
		return nil, fmt.Errorf("there is no sandbox backend %q", s.backend)
	}
	b, err := open(ctx, s.spec)
	if err != nil {
		return nil, fmt.Errorf("open a sandbox of backend %q: %w", s.backend, err)
	}
	h := NewHandle(b)
	h.refs = 1
	s.handle = h
	return h, nil
}

// Share returns the slot of a session that comes from that of s, by a fork,
// detachment, merge, compression or loop: it has the same target and a reference to
// the same handle.
func (s *Slot) Share() (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != nil {
		if err := s.handle.acquire(); err != nil {
			return nil, err
		}
	}
	return &Slot{openers: s.openers, backend: s.backend, spec: s.spec, handle: s.handle}, nil
}

// Close releases the handle. The target stays.
func (s *Slot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(nil)
}

// set replaces the handle and releases the previous one.
func (s *Slot) set(h *Handle) error {
	old := s.handle
	s.handle = h
	if old == nil {
		return nil
	}
	return old.release()
}
