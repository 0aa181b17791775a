package sandbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/loop/sandbox"
)

// A box counts how often it was closed.
type box struct {
	sandbox.Box
	closed int
}

func (b *box) Close() error { b.closed++; return nil }

// boxes returns a backend, and the boxes that it has opened.
func boxes() (map[string]sandbox.Opener, *[]*box) {
	opened := &[]*box{}
	return map[string]sandbox.Opener{"local": func(context.Context, sandbox.Spec) (sandbox.Box, error) {
		b := &box{}
		*opened = append(*opened, b)
		return b, nil
	}}, opened
}

func require(t *testing.T, s *sandbox.Slot) *sandbox.Handle {
	t.Helper()
	h, err := s.Require(t.Context())
	testkit.Must(t, err)
	return h
}

// RATH-14: each session that holds a sandbox counts once, and the last one that
// releases it closes it.
func TestLastSessionClosesTheSandbox(t *testing.T) {
	t.Parallel()
	openers, opened := boxes()
	s := sandbox.New(openers)
	testkit.Must(t, s.To("local", sandbox.Spec{}))
	h := require(t, s)
	require(t, s) // opens nothing more
	testkit.Must(t, s.Bind(h))
	testkit.Equal(t, "references of one session", 1, h.Refs())

	fork, err := s.Share()
	testkit.Must(t, err)
	other := sandbox.New(openers)
	testkit.Must(t, other.Bind(h))
	testkit.Equal(t, "references of three sessions", 3, h.Refs())

	theirs := sandbox.NewHandle(&box{})
	testkit.Must(t, other.Bind(theirs)) // releases h
	testkit.Must(t, s.Close())
	testkit.Must(t, s.Close())
	testkit.Equal(t, "references of the fork", 1, h.Refs())
	testkit.Equal(t, "closed", 0, (*opened)[0].closed)
	testkit.Must(t, fork.Close())
	testkit.Equal(t, "closed", 1, (*opened)[0].closed)
	testkit.WantErr(t, s.Bind(h), sandbox.ErrClosed)
	testkit.Equal(t, "opened", 1, len(*opened))
}

// RATH-15: a target opens nothing until its sandbox is needed, a new one releases the
// handle, and without one there is no sandbox.
func TestTargetsAreOpenedWhenNeeded(t *testing.T) {
	t.Parallel()
	openers, opened := boxes()
	s := sandbox.New(openers)
	_, err := s.Require(t.Context())
	testkit.WantErr(t, err, sandbox.ErrNoTarget)
	testkit.Must(t, s.To("local", sandbox.Spec{}))
	fork, err := s.Share() // of a target without a handle
	testkit.Must(t, err)
	testkit.Equal(t, "opened", 0, len(*opened))
	first := require(t, s)
	if require(t, fork) == first {
		t.Error("a session that shared no handle got that of another")
	}
	testkit.Must(t, s.To("local", sandbox.Spec{}))
	testkit.Equal(t, "closed", 1, (*opened)[0].closed)
	if h := require(t, s); h == first || h.Refs() != 1 {
		t.Errorf("the new target has %d references", h.Refs())
	}
	testkit.Must(t, s.To("elsewhere", sandbox.Spec{}))
	if _, err := s.Require(t.Context()); err == nil {
		t.Error("an unknown backend was opened")
	}
	broken := errors.New("broken")
	openers["elsewhere"] = func(context.Context, sandbox.Spec) (sandbox.Box, error) { return nil, broken }
	_, err = s.Require(t.Context())
	testkit.WantErr(t, err, broken)
}

// RATH-15: a sandbox that was closed serves no session that holds it.
func TestClosedSandboxIsAnError(t *testing.T) {
	t.Parallel()
	openers, opened := boxes()
	s := sandbox.New(openers)
	testkit.Must(t, s.To("local", sandbox.Spec{}))
	h := require(t, s)
	testkit.Must(t, h.Close())
	_, err := s.Require(t.Context())
	testkit.WantErr(t, err, sandbox.ErrClosed)
	_, err = s.Share()
	testkit.WantErr(t, err, sandbox.ErrClosed)
	testkit.WantErr(t, sandbox.New(openers).Bind(h), sandbox.ErrClosed)
	testkit.WantErr(t, s.Bind(nil), sandbox.ErrClosed)
	testkit.Must(t, s.Close())
	testkit.Equal(t, "closed", 1, (*opened)[0].closed)
	if require(t, s) == h {
		t.Error("the slot has a closed sandbox")
	}
}

// RATH-14
func TestSlotsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	openers, opened := boxes()
	s := sandbox.New(openers)
	testkit.Must(t, s.To("local", sandbox.Spec{}))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.Require(t.Context()); err != nil {
				t.Error(err)
			}
			fork, err := s.Share()
			if err == nil {
				err = fork.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	testkit.Must(t, s.Close())
	if len(*opened) != 1 || (*opened)[0].closed != 1 {
		t.Errorf("%d sandboxes", len(*opened))
	}
}
