package fire_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/fire/lan"
)

// A run is nodes under load, faults, and the final checks.
type run struct {
	t        *testing.T
	name     string
	seed     uint64
	mixed    bool // sometimes two faults at a time
	nodes    []*harness.Node
	clients  []*client.Client // of each node
	lan      *lan.LAN         // nil where there is none
	history  history
	pulses   []*pulse
	watchers watchers

	mu     sync.Mutex
	faults []happening
}

// pulses is how many clients append line after line, each to a separate session.
const pulses = 3

// checkTime is the timeout of the check of one session's history. A check that times out
// proves nothing and fails the test.
const checkTime = 30 * time.Second

// fire runs load and faults for the configured time, and checks all answers.
func (r *run) fire(kinds []fault, length time.Duration) {
	t := r.t
	t.Helper()
	t.Logf("seed %d, for %v", r.seed, length)
	for _, n := range r.nodes {
		r.clients = append(r.clients, clientOf(n))
	}
	r.history.began = time.Now()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	for i := range *lanes {
		load.Go(func() { r.rounds(ctx, i) })
	}
	for i := range pulses {
		p := &pulse{run: r, session: fmt.Sprintf("%s-pulse%d", r.name, i), node: i % len(r.nodes)}
		r.pulses = append(r.pulses, p)
		load.Go(func() { p.beat(ctx) })
	}
	for i := range r.nodes {
		for _, p := range r.pulses {
			load.Go(func() { r.watch(ctx, i, p) })
		}
	}
	r.await(t, "the first writes", 0)
	r.burn(t, kinds, length)
	stop()
	load.Wait()
	f := r.judge(t)
	f.print(t)
}

// await returns once every pulse had an answer to a line that it sent after then.
func (r *run) await(t *testing.T, what string, then time.Duration) {
	t.Helper()
	harness.Await(t, what, func() error {
		for _, p := range r.pulses {
			if !p.since(then) {
				return fmt.Errorf("session %s takes none", p.session)
			}
		}
		return nil
	})
}

// judge reads every session through every node, and compares it with the answers.
func (r *run) judge(t *testing.T) figures {
	t.Helper()
	f := figures{Name: t.Name(), Seed: r.seed, Nodes: len(r.nodes)}
	for _, p := range r.pulses {
		f.Operations += len(p.ids)
		f.Retried += p.doubt
		e := r.ending(t, p.session)
		f.add(t, p.session, inspect([][]string{p.ids}, nil, e))
		if p.fault != "" {
			t.Errorf("session %s: no fault excuses the answer %q", p.session, p.fault)
		}
	}
	for id, ops := range r.history.bySession() {
		e := r.ending(t, id)
		f.Sessions++
		f.Operations += len(ops)
		e.place(ops)
		for i := range ops {
			ops[i].Stale = r.mayBeStale(ops[i].Call, ops[i].Return) && !(*strict && ops[i].isRead())
			f.count(ops[i])
			if why := unexcused(ops[i]); why != "" {
				t.Errorf("session %s: %s: %v", id, why, ops[i])
			}
		}
		f.add(t, id, inspect(ackedBy(ops), ops, e))
		if wrong := wasOnce(ops, e.states()); len(wrong) > 0 {
			f.Illegal++
			t.Errorf("session %s: an answer that was never true (seed %d): %v in\n%s", id, r.seed, wrong[0], listed(ops))
		}
		ops = append(ops, e.reads...)
		switch linear(ops, checkTime) {
		case porcupine.Illegal:
			f.Illegal++
			t.Errorf("session %s: its history is not linearizable (seed %d):\n%s", id, r.seed, listed(ops))
		case porcupine.Unknown:
			f.Undecided++
			t.Errorf("session %s: whether its history is linearizable was not found out within %v (seed %d):\n%s", id, checkTime, r.seed, listed(ops))
		}
	}
	f.Reads, f.Old = r.watchers.reads, r.watchers.old
	if len(r.watchers.wrong) > 0 {
		t.Errorf("%d reads lack what was acknowledged before they were sent:\n%s", len(r.watchers.wrong), strings.Join(r.watchers.wrong[:min(len(r.watchers.wrong), 20)], "\n"))
	}
	if f.Sessions == 0 {
		t.Error("no round was begun")
	}
	f.measure(r)
	return f
}

// ending reads a session completely from every node. It waits until they agree, because an
// append without an answer may still be in progress.
func (r *run) ending(t *testing.T, id string) ending {
	t.Helper()
	var e ending
	harness.Await(t, "the nodes to agree on session "+id, func() (err error) {
		e, err = r.readAll(t.Context(), id)
		return err
	})
	return e
}

func (r *run) readAll(ctx context.Context, id string) (ending, error) {
	ctx, cancel := context.WithTimeout(ctx, harness.WaitTimeout)
	defer cancel()
	var e ending
	var first core.Cursor
	for i, c := range r.clients {
		read := op{Session: id, Client: clientsPerRound + i, Node: i, Result: done}
		read.Kind, read.Call = opInfo, r.history.now()
		info, err := c.Info(ctx, id)
		if err != nil {
			return e, fmt.Errorf("node %d: %w", i+1, err)
		}
		read.Return = r.history.now()
		var cursor core.Cursor
		read.Saw, cursor = viewOf(info)
		e.reads = append(e.reads, read)
		if i == 0 {
			first, e.last = cursor, cursor.Seq
		}
		if cursor != first {
			return e, fmt.Errorf("node %d is at %s, node 1 at %s", i+1, cursor, first)
		}
		file, err := export(ctx, c, id)
		if err != nil {
			return e, fmt.Errorf("node %d: %w", i+1, err)
		}
		e.files = append(e.files, file)
		read.Kind, read.Call, read.Saw = opEntries, r.history.now(), view{}
		es, err := readEntries(ctx, c, id)
		if err != nil {
			return e, fmt.Errorf("node %d: %w", i+1, err)
		}
		read.Return, read.Saw.Lines = r.history.now(), linesOf(es)
		e.reads = append(e.reads, read)
	}
	err := r.clients[0].Follow(ctx, id, core.Cursor{}, false, func(ev api.Event) error {
		rec, err := recordOf(ev)
		e.records = append(e.records, rec)
		return err
	})
	if err != nil {
		return e, err
	}
	again, err := r.clients[0].Info(ctx, id)
	if err == nil && again.Log.Cursor != first {
		err = fmt.Errorf("it moved from %s to %s", first, again.Log.Cursor)
	}
	return e, err
}
