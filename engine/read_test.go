package engine_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session"
)

// A lagging log's replica returns one more record on each read.
type lagging struct {
	core.Log
	has core.Pos
}

func (l *lagging) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	l.has++
	return l.Log.Read(ctx, id, after, min(upTo, l.has))
}

func TestLaggingReplicaHidesNoRecords(t *testing.T) {
	t.Parallel()
	l, ss, b := inMemory()
	s := create(t, ss, "session1")
	var cursors []core.Cursor
	for i := range 5 {
		cursors = append(cursors, mustAppend(t, s, core.MainHead, "", message(fmt.Sprintf("m%d", i))).Cursor)
	}
	all := len(records(t, l, "session1"))
	end, err := l.Last(t.Context(), "session1")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range engine.ReadTo(t.Context(), &lagging{Log: l}, "session1", 0, end.Pos) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	testkit.Equal(t, "records that are read", all, n)

	late := &lagging{Log: l}
	local := engine.NewLocal(node(late, b), nil)
	if _, err := local.Load(t.Context(), "session1"); err != nil {
		t.Fatal(err)
	}
	late.has = 0
	n = 0
	err = local.Follow(t.Context(), "session1", cursors[2], false, func(session.Event) error {
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "records after a cursor", 2, n)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range engine.ReadTo(ctx, &lagging{Log: l}, "session1", 0, end.Pos+1) {
		if err != nil && !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, context.Canceled) {
			t.Errorf("records that do not arrive: %v", err)
		}
	}
}
