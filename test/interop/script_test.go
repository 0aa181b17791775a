//go:build unix

package interop_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
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
