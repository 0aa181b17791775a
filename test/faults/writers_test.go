package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// writers append to one session at the same time. Each appends numbered lines one
// after the other and retries each until it has an answer.
type writers struct {
	t    *testing.T
	id   string
	pick func() *client.Client
	stop context.CancelFunc
	wg   sync.WaitGroup

	tries, refused, unsure atomic.Int64

	mu    sync.Mutex
	acked map[string]string // words by entry id
	last  time.Time         // of the latest answer
	gap   time.Duration     // longest between two answers
	why   error             // the latest refusal
}

// write starts n writers on the session id. pick chooses the node of each try.
func write(t *testing.T, id string, n int, pick func() *client.Client) *writers {
	ctx, stop := context.WithCancel(t.Context())
	w := &writers{t: t, id: id, pick: pick, stop: stop, acked: map[string]string{}, last: time.Now()}
	for who := range n {
		w.wg.Go(func() { w.work(ctx, who) })
	}
	t.Cleanup(func() { w.leave() })
	return w
}

func through(n *harness.Node) func() *client.Client {
	c := n.Client()
	return func() *client.Client { return c }
}

// inTurn returns the nodes in rotation.
func inTurn(nodes []*harness.Node) func() *client.Client {
	var turn atomic.Int64
	clients := make([]*client.Client, len(nodes))
	for i, n := range nodes {
		clients[i] = n.Client()
	}
	return func() *client.Client { return clients[int(turn.Add(1))%len(clients)] }
}

// tryFor is the timeout of one try. A writer then retries on another node, so that a
// hanging node does not stop its writers.
const tryFor = 40 * time.Second

// pace is the pause of a writer between an answer and the next append, which leaves
// processor time for other tests. With -long there is none.
const pace = 20 * time.Millisecond

func (w *writers) work(ctx context.Context, who int) {
	for n := 1; ctx.Err() == nil; n++ {
		for !w.try(ctx, said{who, n}) {
			if ctx.Err() != nil {
				return // the outcome is unknown; no client was told that it is stored
			}
			<-time.After(20 * time.Millisecond) // let the failed node recover
		}
		if !*long {
			<-time.After(pace)
		}
	}
}

// try reports whether s was acknowledged. A retry is detected by the entry's id. There
// is no key, because with one the client would retry on the same node.
func (w *writers) try(ctx context.Context, s said) bool {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryFor)
	defer cancel()
	w.tries.Add(1)
	line := fmt.Sprintf(`{"id":%q,%s`, s.id(), harness.Message("user", s.String())[1:])
	_, err := w.pick().Append(asking, w.id, []byte(line), client.AppendOptions{})
	switch {
	case err == nil:
		w.note(s.id(), s.String())
		return true
	case errors.Is(err, core.ErrUncertain):
		w.unsure.Add(1)
	case errors.Is(err, core.ErrUnavailable), errors.Is(err, core.ErrFull):
		w.refused.Add(1)
	default:
		w.t.Errorf("%s: %v", s, err)
		w.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = err
	return false
}

func (w *writers) note(id, words string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked[id] = words
	now := time.Now()
	w.gap, w.last = max(w.gap, now.Sub(w.last)), now
}

// leave stops the writers after their current append.
func (w *writers) leave() {
	w.stop()
	w.wg.Wait()
}

// count returns the number of acknowledged appends.
func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

// await returns once n more appends were acknowledged, and how long that took.
func (w *writers) await(n int) time.Duration {
	w.t.Helper()
	began := time.Now()
	want := w.count() + n
	harness.Await(w.t, fmt.Sprintf("%d more appends", n), func() error {
		if have := w.count(); have < want {
			w.mu.Lock()
			defer w.mu.Unlock()
			return fmt.Errorf("%d are missing; last refusal: %w", want-have, w.why)
		}
		return nil
	})
	return time.Since(began)
}

// awaitRefused returns once n more tries were refused.
func (w *writers) awaitRefused(n int64) {
	w.t.Helper()
	want := w.refused.Load() + w.unsure.Load() + n
	harness.Await(w.t, "refusals", func() error {
		if have := w.refused.Load() + w.unsure.Load(); have < want {
			return fmt.Errorf("%d are missing", want-have)
		}
		return nil
	})
}

// said is a line of a writer.
type said struct{ who, n int }

func (s said) String() string { return fmt.Sprintf("writer %d says %d", s.who, s.n) }

// id is the id of the entry.
func (s said) id() string { return fmt.Sprintf("%02x%06x", s.who, s.n) }

func parseSaid(words string) (s said, ok bool) {
	n, err := fmt.Sscanf(words, "writer %d says %d", &s.who, &s.n)
	return s, n == 2 && err == nil
}

// reached returns the number of a writer's last acknowledged line.
func (w *writers) reached(who int) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, words := range w.acked {
		if s, ok := parseSaid(words); ok && s.who == who {
			n = max(n, s.n)
		}
	}
	return n
}
