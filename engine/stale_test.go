package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/internal/testkit"
)

// young is a log whose leader returns no records for the first few requests.
type young struct {
	core.Log
	questions int
}

func (l *young) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	if l.questions--; l.questions >= 0 {
		return nil, fmt.Errorf("no message found: %w", core.ErrNotFound)
	}
	return l.Log.Last(ctx, id)
}

func TestOpenRetriesLeaderWithoutTheSession(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	create(t, ss, id, entry("a", ""))
	testkit.Equal(t, "entries", []string{"a"}, ids(state(t, open(t, node(&young{l, 3}, b), id))))
	_, err := node(&young{l, 3}, b).Open(t.Context(), logtest.NewID())
	testkit.WantErr(t, err, core.ErrNotFound)
}

// hasty is a log whose leader confirms that a session does not exist although it does.
type hasty struct{ core.Log }

func (hasty) Prove(context.Context, core.SessionID, core.Pos) error { return nil }

func TestAbsenceIsReadAgainAfterItsProof(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	id := logtest.NewID()
	create(t, ss, id, entry("a", ""))
	testkit.WantErr(t, node(hasty{l}, b).ProveAbsent(t.Context(), id), core.ErrConflict)
	if err := node(hasty{l}, b).ProveAbsent(t.Context(), logtest.NewID()); err != nil {
		t.Error(err)
	}
}
