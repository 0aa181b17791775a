package engine_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/memlog"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream/streamtest"
)

// far is a log with network latency between its server and its nodes.
type far struct {
	*memlog.Log
	way    time.Duration // latency one way
	commit time.Duration // latency of storing a record
	busy   chan struct{} // held while a record of the session is stored
	tries  *int          // appends that reached the server; guarded by busy
}

func newFar(way, commit time.Duration) *far {
	return &far{Log: memlog.New("test"), way: way, commit: commit, busy: make(chan struct{}, 1), tries: new(int)}
}

func (f *far) Append(ctx context.Context, id core.SessionID, after core.Pos, r *core.Record) (core.Pos, error) {
	time.Sleep(f.way)
	defer time.Sleep(f.way)
	f.busy <- struct{}{}
	defer func() { <-f.busy }()
	*f.tries++
	last, err := f.Last(ctx, id)
	if err == nil && last.Pos == after {
		time.Sleep(f.commit)
	}
	return f.Log.Append(ctx, id, after, r)
}

// Only nodes call Last and Read, except for Append's own lookup.
func (f *far) Read(ctx context.Context, id core.SessionID, after, upTo core.Pos) iter.Seq2[*core.Record, error] {
	time.Sleep(2 * f.way)
	return f.Log.Read(ctx, id, after, upTo)
}

// asked is the log as seen from a node.
type asked struct{ *far }

func (a asked) Last(ctx context.Context, id core.SessionID) (*core.Record, error) {
	time.Sleep(2 * a.way)
	return a.far.Log.Last(ctx, id)
}

// The writer that has just stored a record knows first where the next one goes.
// Writers on one node must not starve those on another because of that.
func TestNodeDoesNotStarveWritersOfAnotherNode(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { contend(t, nodes) })
		})
	}
}

func contend(t *testing.T, nodes int) {
	const writers, long, most = 4, 30 * time.Second, 4 * time.Second
	l, b := asked{newFar(5*time.Millisecond, 20*time.Millisecond)}, streamtest.NewBlobs()
	first := create(t, node(l, b), "contended-session")
	var mu sync.Mutex
	slowest, stored := make([]time.Duration, nodes), make([]int, nodes)
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	var all sync.WaitGroup
	for n := range nodes {
		s := open(t, node(l, b), first.ID())
		for w := range writers {
			all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					began := time.Now()
					_, err := s.Append(context.WithoutCancel(ctx), engine.Append{Lines: [][]byte{[]byte(message(fmt.Sprintf("%d-%d-%d", n, w, i)))}})
					took := time.Since(began)
					if err != nil {
						t.Errorf("append %d of writer %d of node %d, after %v: %v", i, w, n, took, err)
						return
					}
					mu.Lock()
					slowest[n], stored[n] = max(slowest[n], took), stored[n]+1
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	for n := range nodes {
		if slowest[n] > most {
			t.Errorf("an append by node %d took %v", n, slowest[n])
		}
		if stored[n]*3*nodes < writers*nodes { // each node stores its share
			t.Errorf("node %d stored %d appends", n, stored[n])
		}
	}
	t.Logf("stored %v, slowest %v, %d tries", stored, slowest, *l.tries)
}
