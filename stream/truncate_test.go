package stream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
)

func TestTruncationDropsNothingThatASessionNeeds(t *testing.T) {
	t.Parallel()
	b := newBlobs()
	l := openLog(t, connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	var open []*stream.Session
	for i := range 6 {
		s := create(t, ss, logtest.NewID(), entry("root", ""))
		for j := range 3 {
			mustAppend(t, s, core.MainHead, "", message(fmt.Sprint("m", j)))
		}
		if i%2 == 0 {
			checkpoint(t, s, b)
		}
		open = append(open, s)
	}
	claim(t, open[1], stream.ClaimRequest{Agent: "me"})
	before, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[core.SessionID]*core.State{}
	for _, s := range open {
		want[s.ID()] = state(t, s)
	}
	upTo := before.Last - 2 // in the midst of the last sessions
	take := func(ctx context.Context, s *stream.Session) error { return tryCheckpoint(ctx, s, b) }
	if err := ss.Truncate(t.Context(), l, 0, upTo, take); err != nil {
		t.Fatal(err)
	}
	after, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.First != upTo+1 || after.Sessions != before.Sessions {
		t.Errorf("the shard begins at %d, with %d sessions", after.First, after.Sessions)
	}
	for _, s := range open {
		fresh, err := node(l, b).Open(t.Context(), s.ID())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "entries", ids(want[s.ID()]), ids(state(t, fresh)))
		equal(t, "heads", want[s.ID()].Heads[core.MainHead].Claim, state(t, fresh).Heads[core.MainHead].Claim)
		if state(t, s).Heads[core.MainHead].Claim == nil { // one that was open all the time goes on
			mustAppend(t, s, core.MainHead, "", message("later"))
		}
	}
}

func TestASessionThatCannotBeReadIsInTheWayOfTruncation(t *testing.T) {
	t.Parallel()
	b := newBlobs()
	l := openLog(t, connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1, Blobs: b})
	ss := node(l, b)
	s := create(t, ss, logtest.NewID(), entry("root", ""))
	failed := errors.New("no snapshot today")
	err := ss.Truncate(t.Context(), l, 0, 1, func(context.Context, *stream.Session) error { return failed })
	wantErr(t, err, failed)
	if _, err := node(l, b).Open(t.Context(), s.ID()); err != nil {
		t.Error(err)
	}
}
