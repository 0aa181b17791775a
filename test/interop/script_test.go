//go:build unix

package interop_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A script is the server of a model whose answers are written in advance. It records
// the messages of each request.
type script[A any] struct {
	*httptest.Server
	mu      sync.Mutex
	answers []A
	after   func() A // makes the answers after these
	asked   [][]map[string]any
	begun   time.Time // of the first request
}

// serve starts the server. It ends with the test.
func (s *script[A]) serve(tb testing.TB, h http.Handler) {
	tb.Helper()
	s.Server = httptest.NewServer(h)
	tb.Cleanup(func() {
		s.CloseClientConnections() // from killed agents
		s.Close()
	})
}

// next records a request and returns its answer and its number, from 1.
func (s *script[A]) next(messages []map[string]any) (A, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		s.begun = time.Now()
	}
	s.asked = append(s.asked, messages)
	if len(s.answers) == 0 {
		return s.after(), len(s.asked)
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a, len(s.asked)
}

// last returns the messages of the last request.
func (s *script[A]) last(t *testing.T) []map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		t.Fatal("the model was not asked")
	}
	return s.asked[len(s.asked)-1]
}

// count returns how many requests there were.
func (s *script[A]) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// forget forgets the requests so far.
func (s *script[A]) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = nil
}

// firstAt returns when the first request came.
func (s *script[A]) firstAt(t *testing.T) time.Time {
	t.Helper()
	s.last(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// await waits until after is closed, unless it is nil. It returns false if the agent
// gives up.
func await(r *http.Request, after <-chan struct{}) bool {
	if after == nil {
		return true
	}
	select {
	case <-after:
		return true
	case <-r.Context().Done():
		return false
	}
}

// agentTimeout is for commands that start an agent, which takes long if the machine is
// busy.
func agentTimeout(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 4*harness.WaitTimeout)
	tb.Cleanup(cancel)
	return ctx
}
