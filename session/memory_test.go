package session_test

import (
	"testing"

	"github.com/sesslog/sesslog/session/sessiontest"
)

// OP-33, PI-17, OMP-29, OMP-39: a session in memory keeps every promise that is
// not about being kept.
func TestInMemory(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(*testing.T) sessiontest.Place { return sessiontest.Place{} })
}
