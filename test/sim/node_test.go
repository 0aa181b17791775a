package sim

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/stream"
)

// A node is a process: a connection, a log, and the sessions it keeps in
// memory. Killing it throws all of that away.
type node struct {
	w      *world
	name   string
	ctx    context.Context
	cancel context.CancelFunc

	ids   sync.Mutex // of the names it gives
	mu    sync.Mutex
	ready bool
	nc    *nats.Conn
	log   *stream.Log
	ss    *stream.Sessions
	open  map[core.SessionID]*stream.Session
}

func (w *world) newNode(name string) *node {
	n := &node{w: w, name: name, open: map[core.SessionID]*stream.Session{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	w.procs.Go(n.boot)
	return n
}

// boot connects, as often as it takes.
func (n *node) boot() {
	for n.ctx.Err() == nil {
		nc, err := nats.Connect(
			"nats://sim", nats.InProcessServer(door{n.w.b, n.name}), nats.MaxReconnects(-1),
			nats.CustomReconnectDelay(func(int) time.Duration { return 31 * time.Millisecond }), nats.PingInterval(time.Hour),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			continue
		}
		shelf := shelf{n.w, n.name}
		log, err := stream.OpenLog(n.ctx, nc, stream.LogConfig{Shards: shards, AckWait: 100 * time.Millisecond, Blobs: shelf})
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
		n.ss = stream.NewSessions(stream.Config{
			Log: log, Blobs: shelf, Snapshots: shelf, Dialects: dialect.All(), Host: n.name,
			Timeout: 2 * time.Second, Patience: time.Second, Logger: slog.New(slog.DiscardHandler),
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

// kill ends a node, and another takes its place.
func (w *world) kill(i int) {
	w.nodes[i].end()
	w.nextNode++
	w.nodes[i] = w.newNode(fmt.Sprintf("node%d", w.nextNode))
}

// end closes the node's connection and, once all have heard of it, ends what
// runs on it: one thing at a time.
func (n *node) end() {
	n.mu.Lock()
	nc := n.nc
	n.ready = false
	n.mu.Unlock()
	if nc != nil {
		n.w.procs.Go(nc.Close)
		synctest.Wait()
	}
	n.cancel()
	synctest.Wait()
}

// session returns a session from memory, or opens it.
func (n *node) session(ctx context.Context, id core.SessionID) (*stream.Session, error) {
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

// keep keeps s in memory, unless the session is there already.
func (n *node) keep(s *stream.Session) *stream.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	if there := n.open[s.ID()]; there != nil {
		return there
	}
	n.open[s.ID()] = s
	return s
}

// drop forgets a session, as a full cache does.
func (n *node) drop(id core.SessionID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, id)
}

// within returns the context of one operation on n.
func (n *node) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(n.ctx, 5*time.Second)
}
