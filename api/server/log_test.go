package server_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/sessiontest"
)

// OP-33, OMP-29, OMP-38: the promises of package session hold over HTTP.
func TestSessionsOverNode(t *testing.T) {
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

// OP-33: sessions in the trash can be read but not written to.
func TestSessionInTheTrashIsReadOnly(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.importText(t, file(header, message("a", "", "one")))
	if err := n.Delete(t.Context(), "session-one", api.Notice{}); err != nil {
		t.Fatal(err)
	}
	for _, a := range []session.Access{session.Claimed, session.TakeOver} {
		if _, err := session.Open(t.Context(), n.Log(), "session-one", session.Options{Access: a}); !errors.Is(err, core.ErrDeleted) {
			t.Errorf("access %d: %v", a, err)
		}
	}
	s, err := session.Open(t.Context(), n.Log(), "session-one", session.Options{Access: session.ReadOnly})
	if err != nil || len(s.Entries()) != 1 {
		t.Errorf("open to read: %v", err)
	}
	if found, err := n.Log().Recent(t.Context(), session.Query{CWD: "/home/dev/x"}); err != nil || len(found) != 0 {
		t.Errorf("it is listed as %+v, %v", found, err)
	}
}
