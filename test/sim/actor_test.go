package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/engine"
)

// An actor is a client. It does one operation after another, each through any node, and
// retries through another node if the outcome is unknown.
type actor struct {
	w    *world
	n    int
	name string
	rand *rand.Rand
	busy bool // guarded by w.mu

	id    core.SessionID // of the session it works on
	made  int            // lines and claims
	claim string         // the writer of its claim on head, empty for none
	head  string
}

func newActor(w *world, n int) *actor {
	return &actor{w: w, n: n, name: fmt.Sprintf("w%d", n), rand: rand.New(rand.NewPCG(w.rng.Uint64(), 1)), head: core.MainHead}
}

// idle returns the actors without a running operation.
func (w *world) idle() []*actor {
	w.mu.Lock()
	defer w.mu.Unlock()
	var free []*actor
	for _, a := range w.actors {
		if !a.busy {
			free = append(free, a)
		}
	}
	return free
}

// do runs f concurrently with the world.
func (a *actor) do(name string, f func()) {
	a.w.count("did: " + name)
	a.w.note("%s: %s", a.name, name)
	a.w.mu.Lock()
	a.busy = true
	a.w.mu.Unlock()
	a.w.procs.Go(func() {
		defer func() {
			a.w.mu.Lock()
			defer a.w.mu.Unlock()
			a.busy = false
		}()
		f()
	})
}

// start begins a random operation.
func (a *actor) start() {
	if a.claim == "" || a.rand.IntN(20) == 0 {
		a.id, a.claim, a.head = core.SessionID(fmt.Sprintf("session-%d", a.rand.IntN(sessions))), "", core.MainHead
	}
	switch n := a.rand.IntN(100); {
	case n < 48:
		a.do("append", a.append)
	case n < 58:
		a.do("claim", a.takeHold)
	case n < 62:
		a.do("release", a.release)
	case n < 64:
		a.do("move", a.move)
	case n < 70:
		a.do("checkpoint", a.checkpoint)
	case n < 72:
		a.do("close", a.finish)
	case n < 74:
		a.do("delete and undelete", a.trash)
	case n < 82:
		a.do("open", a.open)
	case n < 90:
		a.do("read", a.read)
	case n < 94:
		a.do("follow", a.follow)
	case n < 97:
		a.do("truncate", a.truncate)
	case n < 98:
		a.do("collect", a.collect)
	default:
		a.do("forget in memory", func() { a.node().drop(a.id) })
	}
}

// node waits for a running node and returns it.
func (a *actor) node() *node {
	for {
		a.w.mu.Lock()
		nodes := a.w.nodes
		n, over := nodes[a.rand.IntN(len(nodes))], a.w.over
		a.w.mu.Unlock()
		if over {
			runtime.Goexit() // no node will answer
		}
		n.mu.Lock()
		ready := n.ready
		n.mu.Unlock()
		if ready {
			return n
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// on calls f with the actor's session on any node.
func (a *actor) on(f func(ctx context.Context, n *node, s *engine.Session) error) error {
	n := a.node()
	ctx, cancel := n.within(clientTimeout)
	defer cancel()
	s, err := n.session(ctx, a.id)
	if err == nil {
		err = f(ctx, n, s)
	}
	a.wait()
	a.w.heard(a, err)
	return err
}

// wait separates a from actors that received the same event at the same instant. The
// seed does not decide the order in which those would continue.
func (a *actor) wait() {
	apart := [actors]time.Duration{101, 103, 107, 109, 113, 127, 131} // they rarely coincide again
	time.Sleep(apart[a.n])
}

// uncertain reports whether err leaves the outcome of a write open.
func uncertain(err error) bool {
	return errors.Is(err, core.ErrUncertain) || errors.Is(err, core.ErrUnavailable) || errors.Is(err, core.ErrFull) ||
		errors.Is(err, core.ErrCorrupt) || errors.Is(err, core.ErrLost) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (a *actor) append() {
	ap := engine.Append{Head: core.MainHead}
	if a.claim != "" {
		ap.Head, ap.Writer = a.head, a.claim
	} else if a.rand.IntN(3) == 0 {
		ap.Head = a.name // a separate head
	}
	var mine []string
	for range 1 + a.rand.IntN(3) {
		a.made++
		mine = append(mine, fmt.Sprintf("%s-%d", a.name, a.made))
		size := 10
		if a.rand.IntN(40) == 0 {
			size = 6000
		}
		ap.Lines = append(ap.Lines, fmt.Appendf(nil, `{"type":"message","message":{"role":"user","content":"%0*d"}}`, size, a.made))
	}
	ap.ID = func(i int) string { return mine[i] }
	ap.Time = "2026-01-02T03:04:05.678Z"
	expecting := a.rand.IntN(4) == 0
	var err error
	for range 12 {
		err = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
			if expecting {
				_ = s.View(func(st *core.State) error { c := st.Cursor(); ap.After = &c; return nil })
				expecting = false
			}
			_, err := s.Append(ctx, ap)
			return err
		})
		if !uncertain(err) {
			break
		}
	}
	a.w.told(a.id, a.name, ap.Head, mine, err)
	if errors.Is(err, core.ErrFenced) {
		a.claim = ""
	}
}

func (a *actor) takeHold() {
	head := []string{core.MainHead, "side"}[a.rand.IntN(2)]
	a.made++
	writer := fmt.Sprintf("%s-claim-%d", a.name, a.made)
	over := a.rand.IntN(2) == 0
	a.claim = ""
	for range 6 {
		err := a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
			_, _, err := s.Claim(ctx, core.ClaimRequest{Head: head, Agent: a.name, TakeOver: over, Writer: writer})
			return err
		})
		if err == nil {
			a.claim, a.head = writer, head
			a.w.grant(a.id, writer)
		}
		if !uncertain(err) {
			return
		}
	}
}

func (a *actor) release() {
	if a.claim == "" {
		return
	}
	_ = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
		return s.Release(ctx, a.head, a.claim, core.Notice{By: a.name})
	})
	a.claim = ""
}

func (a *actor) move() {
	_ = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
		return s.Move(ctx, a.name, "", core.LeafAt("root"))
	})
}

func (a *actor) finish() {
	_ = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
		return s.Finish(ctx, core.Notice{By: a.name})
	})
}

func (a *actor) trash() {
	_ = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
		return s.Delete(ctx, core.Notice{By: a.name})
	})
	for range 12 {
		if err := a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
			return s.Undelete(ctx, core.Notice{By: a.name})
		}); !uncertain(err) {
			return
		}
	}
}

// checkpoint does what a materializer does.
func (a *actor) checkpoint() {
	_ = a.on(func(ctx context.Context, n *node, s *engine.Session) error {
		if s.Orphans() > 0 {
			if err := s.RecoverOrphans(ctx); err != nil {
				return err
			}
		}
		return a.w.checkpoint(ctx, n, s, a.drawForm(), a.rand.IntN(3) == 0)
	})
}

// checkpoint stores a snapshot of s in form f, and the record that names it. late inserts
// a delay between the two.
func (w *world) checkpoint(ctx context.Context, n *node, s *engine.Session, f form, late bool) error {
	d := s.Draft(func(seq uint64, sum core.Digest) string {
		return fmt.Sprintf("snapshots/%s/%020d-%s", s.ID(), seq, sum)
	})
	w.snapshot(s.ID(), d)
	if err := w.save(ctx, shelf{w, n.name}, d, f); err != nil {
		return err
	}
	if late {
		time.Sleep(time.Second)
	}
	if ctx.Err() != nil { // its node died
		return ctx.Err()
	}
	return s.Checkpoint(ctx, d)
}

func (a *actor) open() {
	must := a.w.must(a.id)
	n := a.node()
	ctx, cancel := n.within(clientTimeout)
	defer cancel()
	n.mu.Lock()
	ss := n.ss
	n.mu.Unlock()
	s, err := ss.Open(ctx, a.id)
	a.wait()
	a.w.heard(a, err)
	if err == nil {
		a.w.sees(a.name+" who opens it", s, must)
		n.keep(s)
	}
}

func (a *actor) read() {
	must := a.w.must(a.id)
	_ = a.on(func(ctx context.Context, _ *node, s *engine.Session) error {
		err := s.Refresh(ctx)
		if err == nil {
			a.w.sees(a.name+" who reads on", s, must)
		}
		return err
	})
}

func (a *actor) follow() {
	_ = a.on(func(ctx context.Context, n *node, s *engine.Session) error {
		var at core.Pos
		var have core.Chain
		var seq uint64
		_ = s.View(func(st *core.State) error { at, seq, have = st.Pos, st.Seq, st.Chain; return nil })
		left := 3 + a.rand.IntN(10)
		for r, err := range engine.Chained(ctx, n.log, a.id, at, core.CursorOf(seq, have), n.log.Follow(ctx, a.id, at)) {
			if errors.Is(err, core.ErrLost) && a.w.hasPurged() {
				a.w.count("followers whose place was purged")
				return nil
			}
			if err != nil {
				return err
			}
			if r.Seq != seq+1 || have.Next(r) != r.Chain {
				a.w.fail("P5: a follower of %s got record %d behind %d, which it does not follow", a.id, r.Seq, seq)
			}
			seq, have = r.Seq, r.Chain
			a.wait()
			a.w.met(a.name+" who follows", a.id, r.Seq, r.Chain)
			if left--; left == 0 {
				break
			}
		}
		return nil
	})
}

// truncate drops a prefix. A broker that loses records may lose the checkpoints that
// allowed it, and Truncate does not wait until they are flushed. So nothing is dropped in
// worlds that lose records.
func (a *actor) truncate() {
	if a.w.weather.powerCut > 0 {
		return
	}
	n := a.node()
	ctx, cancel := n.within(time.Minute)
	defer cancel()
	shard := a.rand.IntN(shards)
	st, err := n.log.State(ctx, shard)
	if err == nil && st.Messages > 10 {
		err = n.ss.Truncate(ctx, n.log, shard, st.First+core.Pos(a.rand.Uint64N(st.Messages)), func(ctx context.Context, s *engine.Session) error {
			return a.w.checkpoint(ctx, n, s, a.drawForm(), false)
		})
	}
	a.wait()
	a.w.heard(a, err)
}

// born creates the sessions before any fault.
func (w *world) born() {
	a := w.actors[0]
	for _, id := range w.ids() {
		w.run("making "+string(id), func() {
			n := a.node()
			ctx, cancel := n.within(clientTimeout)
			defer cancel()
			b := engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "pi"}}
			var err error
			b.Header, err = pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: string(id), Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
			if err != nil {
				w.fail("%v", err)
				return
			}
			e, err := pi.Dialect{}.Entry([]byte(`{"type":"message","id":"root","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"hi"}}`))
			if err != nil {
				w.fail("%v", err)
				return
			}
			b.Entries = []core.Entry{e}
			if _, err := n.ss.Create(ctx, b); err != nil {
				w.fail("make %s: %v", id, err)
			}
		})
	}
}
