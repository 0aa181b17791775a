package fire_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// A round is a few clients on one new session, short enough for the checker.
const (
	clientsPerRound = 4
	opsPerClient    = 10
)

// rounds runs one round after the other until ctx ends. It finishes the last one.
func (r *run) rounds(ctx context.Context, lane int) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-lane%d-round%d", r.name, lane, n)
		if !r.create(ctx, id) {
			return
		}
		var wg sync.WaitGroup
		for i := range clientsPerRound {
			rng := rand.New(rand.NewPCG(r.seed, uint64(lane)<<40|uint64(n)<<8|uint64(i)))
			c := &worker{run: r, session: id, number: i, rng: rng, node: rng.IntN(len(r.clients))}
			wg.Go(c.work)
		}
		wg.Wait()
	}
}

// create creates a session on any node that can.
func (r *run) create(ctx context.Context, id string) bool {
	for n := 0; ctx.Err() == nil; n++ {
		try, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := r.clients[n%len(r.clients)].Create(try, api.Create{ID: id, Key: id})
		cancel()
		if err == nil {
			return true
		}
		pause(ctx, 50*time.Millisecond)
	}
	return false
}

// A worker runs one operation at a time on a session.
type worker struct {
	run     *run
	session string
	number  int
	rng     *rand.Rand
	node    int
	ops     int

	writer  [2]string // its last claim on each head, which may have ended
	seen    core.Cursor
	leaf    string   // leaf of the first head at seen
	entries []string // known ids
}

func (c *worker) work() {
	for range opsPerClient {
		o := c.next()
		o.Session, o.Client = c.session, c.number
		o.Call = c.run.history.now()
		c.do(&o)
		o.Return = c.run.history.now()
		c.learn(o)
		c.run.history.add(o)
		if c.rng.IntN(4) == 0 {
			c.node = c.rng.IntN(len(c.run.clients))
		}
		pause(context.Background(), time.Duration(c.rng.IntN(20))*time.Millisecond)
	}
}

// next draws the next operation.
func (c *worker) next() op {
	head := 0
	if c.rng.IntN(4) == 0 {
		head = 1
	}
	o := op{Head: head, Writer: c.writer[head]}
	switch n := c.rng.IntN(100); {
	case n < 38:
		o.Kind = opAppend
		if c.rng.IntN(5) == 0 { // without a claim, or with one that may have ended
			o.Writer = ""
		}
		o.IDs = c.ids(1 + c.rng.IntN(3))
	case n < 52:
		o.Kind, o.Head, o.Writer = opAppend, 0, c.writer[0]
		o.IDs = c.ids(1)
		if c.seen != (core.Cursor{}) {
			o.After, o.Leaf = true, c.leaf
		}
	case n < 66:
		o.Kind, o.TakeOver = opClaim, c.rng.IntN(2) == 0
		o.Writer = fmt.Sprintf("%s-writer%d-%d", c.session[strings.LastIndex(c.session, "lane"):], c.number, c.ops)
	case n < 74 && o.Writer != "":
		o.Kind = opRelease
	case n < 80 && len(c.entries) > 0:
		o.Kind, o.Head, o.Writer = opMove, 1, c.writer[1]
		o.Leaf = c.entries[c.rng.IntN(len(c.entries))]
	case n < 92:
		o.Kind = opInfo
	default:
		o.Kind = opEntries
	}
	c.ops++
	return o
}

func (c *worker) ids(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%x%02x%x%04x", c.number, c.ops, i, c.rng.IntN(1<<16))
	}
	return ids
}

// do calls a node and records the result in o. It retries an append without an answer with
// the same lines, usually on another node.
func (c *worker) do(o *op) {
	doubt := false
	for o.Tries = 1; ; o.Tries++ {
		o.Node = c.node
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1500+c.rng.IntN(3000))*time.Millisecond)
		err := c.call(ctx, c.run.clients[c.node], o)
		cancel()
		o.Result = resultOf(err)
		if err != nil {
			o.Why = err.Error()
			c.node = c.rng.IntN(len(c.run.clients)) // that node may be dead
		}
		if o.Result == unknown {
			doubt = true
		}
		again := o.Kind == opAppend && (o.Result == unknown || doubt && o.Result == refused)
		if again && o.Tries < 4 && c.rng.IntN(4) != 0 {
			continue
		}
		if doubt && o.Result != done && o.Result != broken {
			o.Result = unknown // an earlier try may still be stored
		}
		return
	}
}

func (c *worker) call(ctx context.Context, to *client.Client, o *op) error {
	switch o.Kind {
	case opAppend:
		return c.append(ctx, to, o)
	case opClaim:
		got, err := to.Claim(ctx, c.session, core.ClaimRequest{Head: heads[o.Head], Writer: o.Writer, TakeOver: o.TakeOver})
		if err == nil && got.Former != nil {
			o.Former = got.Former.Writer
		}
		o.Epoch = got.Epoch
		return err
	case opRelease:
		return to.Release(ctx, c.session, heads[o.Head], o.Writer)
	case opMove:
		_, err := to.Move(ctx, c.session, heads[o.Head], api.MoveRequest{Leaf: core.LeafAt(o.Leaf)}, o.Writer)
		return err
	case opInfo:
		info, err := to.Info(ctx, c.session)
		if err == nil {
			o.Saw, c.seen = viewOf(info)
			c.leaf = o.Saw.Leaf[0]
		}
		return err
	}
	es, err := readEntries(ctx, to, c.session)
	o.Saw.Lines = linesOf(es)
	return err
}

func (c *worker) append(ctx context.Context, to *client.Client, o *op) error {
	var body strings.Builder
	for i, id := range o.IDs {
		fmt.Fprintln(&body, entryLine(id, fmt.Sprintf("client %d, op %d, line %d", c.number, c.ops, i)))
	}
	how := client.AppendOptions{Head: heads[o.Head], Writer: o.Writer}
	if o.After {
		how.After = c.seen.String()
	}
	_, err := to.Append(ctx, c.session, []byte(body.String()), how)
	return err
}

// learn updates what the worker knows of the session from an op.
func (c *worker) learn(o op) {
	switch {
	case o.Kind == opClaim && o.Result != fenced:
		c.writer[o.Head] = o.Writer
	case o.Kind == opRelease && o.Result == done && c.rng.IntN(3) > 0: // otherwise it continues to write
		c.writer[o.Head] = ""
	case o.Kind == opAppend && o.Result == fenced && c.rng.IntN(2) == 0: // otherwise it retries
		c.writer[o.Head] = ""
	case o.Kind == opAppend && o.Result == done:
		c.entries = append(c.entries, o.IDs...)
	}
}

// pause waits, or returns early if ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
