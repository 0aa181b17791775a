package engine_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/logtest"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// Forgotten records disappear from every server at once. The session's later records
// and all other sessions stay, and the next append is checked as before.
func TestForgetRemovesOnlyGivenRecords(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*nats.Conn, int){
		"R1": func(t *testing.T) (*nats.Conn, int) { return streamtest.Connect(t, embeddedtest.Start(t)), 1 },
		"R3": func(t *testing.T) (*nats.Conn, int) {
			if testing.Short() {
				t.Skip("three servers; not with -short")
			}
			return streamtest.Connect(t, embeddedtest.StartCluster(t, 3)[0]), 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc, replicas := start(t)
			l := streamtest.Open(t, nc, stream.LogConfig{Shards: 1, Replicas: replicas, AckWait: 5 * time.Second})
			mine, others := logtest.NewID(), logtest.NewID()
			last := map[core.SessionID]core.Pos{}
			var third core.Pos
			for seq := uint64(1); seq <= 5; seq++ {
				for _, id := range []core.SessionID{mine, others} {
					pos, err := l.Append(t.Context(), id, last[id], testRecord(seq, []byte("body")))
					if err != nil {
						t.Fatal(err)
					}
					last[id] = pos
				}
				if seq == 3 {
					third = last[mine]
				}
			}
			for _, want := range []uint64{3, 0} { // and retry
				if n, err := l.Forget(t.Context(), mine, third); err != nil || n != want {
					t.Fatalf("%d records were forgotten, want %d (%v)", n, want, err)
				}
			}
			if got := seqs(records(t, l, mine)); len(got) != 2 || got[0] != 4 {
				t.Errorf("remaining records of the session: %v", got)
			}
			if got := seqs(records(t, l, others)); len(got) != 5 {
				t.Errorf("remaining records of the other session: %v", got)
			}
			if _, err := l.Append(t.Context(), mine, last[mine], testRecord(6, nil)); err != nil {
				t.Errorf("the next record: %v", err)
			}
			st, err := l.State(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if passed, err := l.Truncated(t.Context(), 0, st.Last); err != nil || passed != 3 {
				t.Errorf("%d records have passed, want 3 (%v)", passed, err)
			}
		})
	}
}

func seqs(rs []*core.Record) (out []uint64) {
	for _, r := range rs {
		out = append(out, r.Seq)
	}
	return out
}
