package engine_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

func TestShardEndIsConfirmedByBarrier(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1})
	end := func(shard int) core.Pos {
		t.Helper()
		st, err := l.State(t.Context(), shard)
		if err != nil {
			t.Fatal(err)
		}
		return st.Last
	}
	const shard = 0
	at := end(shard)
	if lost, err := l.ProveEndsBefore(t.Context(), shard, at); lost || err != nil || end(shard) != at {
		t.Errorf("a position within the shard: lost %v, err %v, the shard ends at %d", lost, err, end(shard))
	}
	if lost, err := l.ProveEndsBefore(t.Context(), shard, at+5); !lost || err != nil || end(shard) != at+1 {
		t.Errorf("a position after the end: lost %v, err %v, the shard ends at %d", lost, err, end(shard))
	}
}

func TestFollowerAfterEndGetsLostOnceAQuorumConfirms(t *testing.T) {
	t.Parallel()
	l := streamtest.Open(t, streamtest.Connect(t, embeddedtest.Start(t)), stream.LogConfig{Shards: 1})
	s := create(t, node(l, streamtest.NewBlobs()), logtest.NewID(), entry("a", ""))
	before, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range l.Follow(t.Context(), s.ID(), before.Last+5) {
		testkit.WantErr(t, err, core.ErrLost)
		break
	}
	after, err := l.State(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Equal(t, "barriers", core.Pos(1), after.Last-before.Last)
}
