package api_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session/sessiontest"
)

// OP-33, OMP-29, OMP-38: the promises of package session hold over HTTP.
func TestSessionsOverANode(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sessiontest.Run(t, func(*testing.T) sessiontest.Place {
		return sessiontest.Place{
			Log: n.Log(),
			Records: func(t *testing.T, id core.SessionID) int {
				info, err := n.Info(t.Context(), string(id))
				if err != nil && !errors.Is(err, core.ErrNotFound) {
					t.Fatal(err)
				}
				return int(info.Log.Cursor.Seq)
			},
		}
	})
}
