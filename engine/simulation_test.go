package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/engine"
	"github.com/sesslog/sesslog/internal/retry"
)

var (
	simSteps = flag.Int("sim-steps", 60_000, "how many steps the simulations take together")
	simSeed  = flag.Uint64("sim-seed", 0, "play this seed of the simulations, and no other")
	simTrace = flag.Bool("sim-trace", false, "print the events of passing seeds too")
)

// stepsPerSeed is how long one simulation runs before it is judged.
const stepsPerSeed = 1500

// worlds are the fault profiles.
var worlds = map[string]faults{
	"calm":       {},
	"network":    {request: 0.05, reply: 0.08, late: 0.05, refusal: 0.05, stale: 0.003},
	"store":      {store: 0.2, reply: 0.03, truncate: 0.002},
	"processes":  {crash: 0.004, pause: 0.004, reply: 0.03, late: 0.03, truncate: 0.002},
	"everything": {request: 0.03, reply: 0.05, late: 0.04, refusal: 0.03, stale: 0.002, store: 0.05, crash: 0.002, pause: 0.002, truncate: 0.002},
	"amnesia":    {loss: 0.006, crash: 0.006, pause: 0.006, late: 0.1, reply: 0.03},
	"loss":       {loss: 0.004, reply: 0.03, late: 0.02, stale: 0.002},
	"havoc":      {request: 0.03, reply: 0.05, late: 0.04, refusal: 0.03, stale: 0.002, store: 0.05, crash: 0.002, pause: 0.002, loss: 0.002},
}

// The real protocol runs over a faulty broker and object store: acknowledged lines are
// stored once, in order, and after their parent.
func TestPromisesHoldInSimulation(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(worlds))
	runs := max(1, *simSteps/stepsPerSeed/len(names))
	first := *simSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1_000_000_000
	} else {
		runs = 1
		retry.Seed(first) // with -cpu 1 the run is reproducible
	}
	t.Logf("seeds %d to %d; repeat one with: -run %s -sim-seed N", first, first+uint64(runs)-1, t.Name())
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("worlds", func(t *testing.T) {
		for _, name := range names {
			for i := range runs {
				seed := first + uint64(i)
				t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						s := simulate(t, worlds[name], seed)
						mu.Lock()
						defer mu.Unlock()
						for what, n := range s.counts {
							counts[what] += n
						}
					})
				})
			}
		}
	})
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%-22s %d", what, counts[what]))
	}
	t.Logf("events:\n%s", strings.Join(lines, "\n"))
}

// simSessions are the sessions of a simulation: few, so that writers contend.
var simSessions = []core.SessionID{"session-a", "session-b"}

// A simNode is one process.
type simNode struct {
	sim    *sim
	id     int
	dead   bool
	asleep time.Time // paused until then
	frozen *broker   // the state of its partitioned leader, until thaws
	thaws  time.Time
	ss     *engine.Sessions
	log    *simLog
	store  *simStore
	names  atomic.Int64

	mu   sync.Mutex
	open map[core.SessionID]*engine.Session
}

func (s *sim) boot() *simNode {
	n := &simNode{sim: s, id: s.counts["node started"], open: map[core.SessionID]*engine.Session{}}
	s.count("node started")
	n.log, n.store = &simLog{s, n}, &simStore{s, n}
	n.ss = engine.NewSessions(engine.Config{
		Log: full(n.log), Blobs: n.store, Snapshots: n.store, Dialects: dialect.All(), Host: fmt.Sprint("host", n.id), Concurrency: 1,
		Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler),
		NewID: func() string { return fmt.Sprintf("writer-%d-%d", n.id, n.names.Add(1)) },
	})
	return n
}

// sessions returns the open sessions.
func (n *simNode) sessions() []*engine.Session {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.open))
}

// session opens a session on the node, once.
func (n *simNode) session(ctx context.Context, id core.SessionID) (*engine.Session, error) {
	n.mu.Lock()
	s := n.open[id]
	n.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := n.ss.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if there := n.open[id]; there != nil {
		return there, nil
	}
	n.open[id] = s
	return s, nil
}

// simulate plays one seed and judges it.
func simulate(t *testing.T, rules faults, seed uint64) *sim {
	s := &sim{
		rng: rand.New(rand.NewPCG(seed, 1)), rules: rules, calm: true, counts: map[string]int{},
		broker: broker{first: 1}, objects: objects{all: map[core.Digest][]byte{}, seqs: map[string]core.Digest{}},
	}
	h := &simHistory{sim: s, told: map[string]bool{}, refused: map[string]error{}, order: map[string][]string{}, forgiven: map[string]bool{}}
	var actors sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	begun := make(chan struct{})
	actors.Go(func() { defer close(begun); h.begin(t, s.boot()) })
	for !closed(begun) {
		s.step()
	}
	for range 3 {
		s.nodes = append(s.nodes, s.boot())
	}
	s.onLoss = h.forgive
	for i := range 6 {
		a := &simActor{h: h, name: fmt.Sprint("w", i), rng: rand.New(rand.NewPCG(seed, uint64(100+i)))}
		actors.Go(func() { a.run(ctx) })
	}
	s.calm = false
	for range stepsPerSeed {
		s.step()
	}
	s.calm = true
	for _, n := range s.nodes {
		n.asleep = time.Time{}
	}
	stop()
	done := make(chan struct{})
	go func() { actors.Wait(); h.settle(t); close(done) }()
	for !closed(done) {
		s.step()
	}
	// Requests in flight end with their timeout.
	for end := time.Now().Add(time.Minute); len(s.late) > 0 || time.Now().Before(end); {
		s.step()
	}
	s.counts["step"] += s.steps
	if len(s.wrong) > 0 || *simTrace {
		t.Logf("last events:\n%s", strings.Join(s.trace, "\n"))
	}
	for _, w := range s.wrong {
		t.Errorf("seed %d: %s", seed, w)
	}
	return s
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// crash ends a node and starts another.
func (s *sim) crash() {
	i := s.rng.IntN(len(s.nodes))
	s.logf("node %d dies", s.nodes[i].id)
	s.count("crash")
	s.nodes[i].dead = true
	fresh := s.boot()
	s.mu.Lock()
	s.nodes[i] = fresh
	s.mu.Unlock()
	s.onLoss()
}

// lose makes the broker lose part of its tail.
func (s *sim) lose() {
	b := &s.broker
	n := min(1+s.rng.IntN(4), len(b.all)-len(simSessions))
	if n <= 0 {
		return
	}
	s.logf("the broker forgets %d records, from %d on", n, b.last()-core.Pos(n)+1)
	s.count("tail lost")
	s.counts["records forgotten"] += n
	b.all = slices.Clone(b.all[:len(b.all)-n])
	s.onLoss()
}

// A simHistory is the answers that writers got.
type simHistory struct {
	sim *sim

	mu       sync.Mutex
	told     map[string]bool     // lines that were acknowledged
	refused  map[string]error    // lines that were rejected permanently, and why
	order    map[string][]string // by writer, in that order
	forgiven map[string]bool     // lines that no broker or node knows any more
}

func (h *simHistory) begin(t *testing.T, n *simNode) {
	for _, id := range simSessions {
		b := engine.CreateRequest{ID: id, Origin: core.Origin{Dialect: "pi"}}
		b.Header, _ = pi.Dialect{}.Header(pi.Dialect{}.NewHeader(core.HeaderFields{ID: string(id), Time: "2026-01-02T03:04:05.678Z", CWD: "/w"}))
		if _, err := n.ss.Create(t.Context(), b); err != nil {
			h.sim.fail("create: %v", err)
		}
	}
}

// forgive records the lines that neither the broker nor a live node knows: they cannot
// be recovered.
func (h *simHistory) forgive() {
	known := map[string]bool{}
	for _, r := range h.sim.broker.all {
		if r.rec.Kind == core.KindAppend {
			es, _ := core.BodyEntries(pi.Dialect{}, r.rec.Body)
			for _, e := range es {
				known[e.ID] = true
			}
		}
		if m, err := r.rec.Manifest(); r.rec.Kind == core.KindCheckpoint && err == nil {
			for line := range strings.Lines(string(h.sim.objects.all[m.SHA256])) {
				if e, err := (pi.Dialect{}).Entry([]byte(strings.TrimSuffix(line, "\n"))); err == nil {
					known[e.ID] = true
				}
			}
		}
	}
	for _, n := range h.sim.nodes {
		for _, s := range n.sessions() {
			_ = s.View(func(st *core.State) error {
				for i := range st.Entries {
					known[st.Entries[i].ID] = true
				}
				return nil
			})
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.told {
		if !known[id] {
			h.forgiven[id] = true
		}
	}
}

// A simActor is a writer, which may use any node.
type simActor struct {
	h      *simHistory
	name   string
	rng    *rand.Rand
	n      int
	sess   core.SessionID
	head   string
	writer string
}

func (a *simActor) run(ctx context.Context) {
	a.sess = simSessions[a.rng.IntN(len(simSessions))]
	a.head = core.MainHead
	for ctx.Err() == nil {
		a.act(ctx)
		select {
		case <-time.After(time.Duration(1+a.rng.IntN(200)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (a *simActor) act(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	node := a.h.sim.node(a.rng)
	s, err := node.session(ctx, a.sess)
	if err != nil {
		a.blame("open", err)
		return
	}
	switch n := a.rng.IntN(100); {
	case n < 60:
		a.append(ctx)
	case n < 68:
		a.claim(ctx, s)
	case n < 72 && a.writer != "":
		if s.Release(ctx, a.head, a.writer, core.Notice{By: a.name}) == nil {
			a.writer = ""
		}
	case n < 75:
		_ = s.Move(ctx, a.name, "", core.NoLeaf)
	case n < 85:
		a.read(ctx, node, s)
	case n < 97:
		a.tend(ctx, node, s)
	default:
		if a.rng.Float64() < 100*a.h.sim.rules.truncate {
			a.truncate(ctx, node)
		}
	}
}

// blame checks that an error is one of those allowed.
func (a *simActor) blame(what string, err error) {
	if errors.Is(err, core.ErrConflict) && what == "append" && a.h.sim.rules.loss == 0 {
		a.h.sim.fail("an append by %s is a conflict, and its ids were never used: %v", a.name, err)
	}
	if errors.Is(err, core.ErrCorrupt) && a.h.sim.rules.store == 0 {
		a.h.sim.fail("%s by %s: %v", what, a.name, err)
	}
}

func (a *simActor) claim(ctx context.Context, s *engine.Session) {
	a.head = []string{core.MainHead, "side"}[a.rng.IntN(2)]
	c, _, err := s.Claim(ctx, core.ClaimRequest{Head: a.head, Agent: a.name, TakeOver: a.rng.IntN(2) == 0})
	if a.writer = ""; err == nil {
		a.writer = c.Writer
		a.h.sim.logf("%s holds %s of %s as %s", a.name, a.head, a.sess, a.writer)
	}
}

// append sends lines on any node until the outcome is definite.
func (a *simActor) append(ctx context.Context) {
	q := engine.Append{Head: a.head, Writer: a.writer}
	var mine []string
	for range 1 + a.rng.IntN(3) {
		a.n++
		id := fmt.Sprintf("%s-%d", a.name, a.n)
		mine = append(mine, id)
		q.Lines = append(q.Lines, []byte(message(id)))
	}
	for ctx.Err() == nil {
		node := a.h.sim.node(a.rng)
		s, err := node.session(ctx, a.sess)
		if err == nil {
			_, err = s.Append(ctx, q)
		}
		a.h.sim.logf("%s is told of %v: %v", a.name, mine, err)
		if err == nil {
			a.h.tell(a.name, mine)
			return
		}
		if errors.Is(err, core.ErrFenced) {
			a.writer = ""
			a.h.refuse(mine, err)
			return
		}
		if !errors.Is(err, core.ErrUncertain) && !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrFull) {
			if ctx.Err() == nil {
				a.blame("append", err)
				a.h.refuse(mine, err)
			}
			return
		}
	}
}

// refuse records that lines were rejected permanently.
func (h *simHistory) refuse(ids []string, err error) {
	h.sim.count("append refused")
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.refused[id] = err
	}
}

func (h *simHistory) tell(who string, ids []string) {
	h.sim.count("append acknowledged")
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		h.told[id] = true
	}
	h.order[who] = append(h.order[who], ids...)
}

// read checks that a new read includes everything acknowledged before it began.
func (a *simActor) read(ctx context.Context, n *simNode, s *engine.Session) {
	if a.h.sim.rules.loss > 0 {
		return
	}
	a.h.mu.Lock()
	want := maps.Clone(a.h.told)
	a.h.mu.Unlock()
	if s.RefreshStrict(ctx) != nil {
		return
	}
	a.h.sim.count("strict read")
	other := map[string]bool{}
	_ = s.View(func(st *core.State) error {
		for id := range want {
			if _, ok := st.Entry(id); !ok {
				other[id] = true
			}
		}
		return nil
	})
	if len(other) == 0 {
		return
	}
	for _, id := range simSessions { // they may belong to another session
		if id == a.sess {
			continue
		}
		if o, err := n.session(ctx, id); err == nil && o.RefreshStrict(ctx) == nil {
			_ = o.View(func(st *core.State) error {
				for id := range other {
					if _, ok := st.Entry(id); ok {
						delete(other, id)
					}
				}
				return nil
			})
		} else {
			return
		}
	}
	if len(other) > 0 {
		a.h.sim.fail("a strict read of node %d lacks %v, which were acknowledged before", n.id, slices.Sorted(maps.Keys(other)))
	}
}

// tend does the work of a materializer.
func (a *simActor) tend(ctx context.Context, n *simNode, s *engine.Session) {
	if s.Refresh(ctx) != nil {
		return
	}
	if s.Orphans() > 0 && s.RecoverOrphans(ctx) != nil {
		return
	}
	if n.checkpoint(ctx, s) == nil {
		a.h.sim.count("checkpoint")
	}
}

func (n *simNode) checkpoint(ctx context.Context, s *engine.Session) error {
	d := draft(s)
	if _, err := n.store.Put(ctx, d.Plain); err != nil {
		return err
	}
	n.sim.same(d)
	return s.Checkpoint(ctx, d)
}

// same checks that snapshots of the same record are byte-identical.
func (s *sim) same(d *engine.Draft) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %d %s", d.Manifest.Session, d.Manifest.Seq, d.Manifest.Chain)
	if old, ok := s.objects.seqs[key]; ok && old != d.Manifest.SHA256 {
		s.fail("two snapshots of record %s", key)
	}
	s.objects.seqs[key] = d.Manifest.SHA256
}

func (a *simActor) truncate(ctx context.Context, n *simNode) {
	var upTo core.Pos
	if a.h.sim.ask(ctx, n, "end", func() { upTo = (a.h.sim.broker.first + a.h.sim.broker.last()) / 2 }) != nil {
		return
	}
	a.blame("truncate", n.ss.Truncate(ctx, n.log, 0, upTo, n.checkpoint))
}

// settle lets every node catch up, and then checks the result.
func (h *simHistory) settle(t *testing.T) {
	ctx := t.Context()
	for range 3 {
		for _, n := range h.sim.nodes {
			for _, id := range simSessions {
				h.catchUp(ctx, n, id)
			}
		}
	}
	fresh := h.sim.boot()
	times := map[string]int{}
	place := map[string]int{}
	for _, id := range simSessions {
		s, err := fresh.ss.Open(ctx, id)
		if err != nil {
			h.sim.fail("at the end session %s cannot be opened: %v", id, err)
			continue
		}
		h.judge(id, state(t, s), times, place)
	}
	for _, id := range slices.Sorted(maps.Keys(h.told)) {
		switch n := times[id]; {
		case n == 0 && !h.forgiven[id]:
			h.sim.fail("%s was acknowledged and is not there", id)
		case n > 1:
			h.sim.fail("%s is there %d times", id, n)
		}
		h.sim.counts["line acknowledged"]++
	}
	if h.sim.rules.loss == 0 {
		for _, id := range slices.Sorted(maps.Keys(h.refused)) {
			if times[id] > 0 {
				h.sim.fail("%s is there, and its writer was told: %v", id, h.refused[id])
			}
		}
	}
	h.sim.counts["line forgiven"] += len(h.forgiven)
	if h.sim.rules.loss == 0 && len(h.forgiven) > 0 {
		h.sim.fail("%d lines are forgiven although nothing was lost", len(h.forgiven))
	}
	for who, ids := range h.order {
		last := -1
		for _, id := range ids {
			if at, ok := place[id]; ok && h.sim.rules.loss == 0 {
				if at < last {
					h.sim.fail("%s of %s is before what was acknowledged earlier", id, who)
				}
				last = at
			}
		}
	}
}

func (h *simHistory) catchUp(ctx context.Context, n *simNode, id core.SessionID) {
	for try := range 100 {
		s, err := n.session(ctx, id)
		if err == nil {
			err = s.Refresh(ctx)
		}
		if err == nil && s.Orphans() > 0 {
			if err = s.RecoverOrphans(ctx); err == nil {
				err = n.checkpoint(ctx, s)
			}
		}
		if err == nil {
			return
		}
		if try == 99 {
			h.sim.fail("node %d does not come to session %s: %v", n.id, id, err)
		}
	}
}

func (h *simHistory) judge(id core.SessionID, st *core.State, times, place map[string]int) {
	for i, e := range st.Entries {
		times[e.ID]++
		place[e.ID] = i
		if _, ok := st.Entry(e.Parent); e.Parent != "" && !ok && h.sim.rules.loss == 0 {
			h.sim.fail("the parent of %s, %s, is nowhere in session %s", e.ID, e.Parent, id)
		}
	}
	if h.sim.rules.loss > 0 {
		return
	}
	holder, over := map[string]string{}, map[string]bool{}
	for i := range h.sim.broker.all {
		r := &h.sim.broker.all[i].rec
		switch {
		case h.sim.broker.all[i].id != id:
			continue
		case r.Kind == core.KindClaim:
			over[holder[r.Head]] = true
			holder[r.Head] = r.Writer
		case r.Kind == core.KindAppend, r.Kind == core.KindHead:
			if over[r.Writer] {
				h.sim.fail("%s wrote record %d after its claim was over", r.Writer, r.Seq)
			}
		}
	}
}
