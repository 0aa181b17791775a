package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/stream"
)

// A node is a process: a connection, a log, and sessions in memory. Killing it drops them
// all.
type node struct {
	w      *world
	name   string
	ctx    context.Context
	cancel context.CancelFunc

	ids   sync.Mutex // of generated names
	mu    sync.Mutex
	ready bool
	nc    *nats.Conn
	log   *stream.Log
	ss    *engine.Sessions
	open  map[core.SessionID]*engine.Session
	ops   []op // its requests in order
}

// An op is an operation on a node.
type op struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (w *world) newNode(name string) *node {
	n := &node{w: w, name: name, open: map[core.SessionID]*engine.Session{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	w.procs.Go(n.boot)
	return n
}

// boot connects, and retries until it succeeds.
func (n *node) boot() {
	for n.ctx.Err() == nil {
		nc, err := nats.Connect(
			"nats://sim", nats.InProcessServer(door{n.w.b, n.name}), nats.MaxReconnects(-1),
			nats.CustomReconnectDelay(func(int) time.Duration { return 31 * time.Millisecond }), nats.PingInterval(time.Hour), nats.ReconnectBufSize(-1),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			continue
		}
		shelf := shelf{n.w, n.name}
		log, err := stream.OpenLog(n.ctx, nc, stream.LogConfig{Shards: shards, AckWait: 100 * time.Millisecond, Blobs: shelf, Durable: n.durable()})
		if err != nil {
			nc.Close()
			continue
		}
		ids := 0
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.ctx.Err() != nil {
			nc.Close()
			return
		}
		n.nc, n.log, n.ready = nc, log, true
		n.ss = engine.NewSessions(engine.Config{
			Log: log, Blobs: shelf, Snapshots: shelf, Dialects: dialect.All(), Host: n.name, Concurrency: 1,
			Timeout: 2 * time.Second, RetryTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
			NewID: func() string {
				n.ids.Lock()
				defer n.ids.Unlock()
				ids++
				return fmt.Sprintf("%s-writer-%04d", n.name, ids)
			},
		})
		return
	}
}

// kill ends a node and starts another in its place.
func (w *world) kill(i int) {
	w.nodes[i].die()
	w.dead = append(w.dead, w.nodes[i])
	w.nextNode++
	w.nodes[i] = w.newNode(fmt.Sprintf("node%d", w.nextNode))
}

// die disconnects the node from all others. Messages that it has sent are still in
// transit. Waiting callers are released one after another, so that a seed always plays
// the same history.
func (n *node) die() {
	n.mu.Lock()
	ops := n.ops
	n.ops, n.ready = nil, false
	n.mu.Unlock()
	n.w.b.mu.Lock()
	for _, c := range n.w.b.conns {
		c.dead = c.dead || c.name == n.name
	}
	n.w.b.mu.Unlock()
	n.w.mu.Lock()
	n.w.gone[n.name] = true
	n.w.calls = slices.DeleteFunc(n.w.calls, func(c *call) bool { return c.node == n.name })
	n.w.mu.Unlock()
	for _, o := range ops {
		o.cancel()
		synctest.Wait()
	}
	n.cancel()
	synctest.Wait()
}

// end stops everything that runs on the node.
func (n *node) end() {
	n.die()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nc != nil {
		n.w.procs.Go(n.nc.Close)
	}
}

// session returns a session from memory, or opens it.
func (n *node) session(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	n.mu.Lock()
	s, ss := n.open[id], n.ss
	n.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := ss.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	return n.keep(s), nil
}

// keep stores s in memory, unless there is one already.
func (n *node) keep(s *engine.Session) *engine.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	if there := n.open[s.ID()]; there != nil {
		return there
	}
	n.open[s.ID()] = s
	return s
}

// drop removes a session from memory, as a full cache does.
func (n *node) drop(id core.SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, id)
}

// clientTimeout is the timeout of clients.
const clientTimeout = 5 * time.Second

// within returns the context of one operation on n.
func (n *node) within(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(n.ctx, d)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ops = append(slices.DeleteFunc(n.ops, func(o op) bool { return o.ctx.Err() != nil }), op{ctx, cancel})
	return ctx, cancel
}
