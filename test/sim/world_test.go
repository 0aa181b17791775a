package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/retry"
)

const (
	shards   = 2
	sessions = 4
	actors   = 7
	keepLast = 250 // steps in the output of a failure
)

// A world is one history: nodes and actors, a broker and an object store, and a scheduler.
// All random choices come from rng.
type world struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	step    int
	weather weather
	b       *broker
	procs   sync.WaitGroup

	nodes    []*node
	dead     []*node
	gone     map[string]bool // dead nodes by name; guarded by mu
	nextNode int
	actors   []*actor
	frozen   map[string]time.Time // frozen nodes
	things   []thing
	disks    map[string]*disk
	objects  map[string][]byte
	lossAt   []int
	flushing bool              // see flushes
	flushed  map[string]uint64 // last flushed message by stream

	mu     sync.Mutex
	calls  []*call
	counts map[string]int
	trace  []string
	wrong  []string
	over   bool

	truths map[core.SessionID]*truth
}

// bubble runs f with a clock of its own. nats.go keeps timers in a sync.Pool, and one that
// leaves its bubble, or comes into another, ends the process.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	dropPools()
	defer dropPools()
	synctest.Test(t, f)
}

// dropPools empties every sync.Pool, which takes two collections.
func dropPools() {
	runtime.GC()
	runtime.GC()
}

// play runs a world for that many steps and checks it. It returns the counters, and the
// broken promise if there is one.
func play(t *testing.T, seed uint64, steps int, forget bool, spoil func(*broker)) (counts map[string]int, broken string) {
	t.Helper()
	retry.Seed(seed)
	bubble(t, func(t *testing.T) {
		w := &world{
			t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 4)), b: newBroker(),
			frozen: map[string]time.Time{}, disks: map[string]*disk{}, objects: map[string][]byte{},
			flushing: flushes(seed, forget), flushed: map[string]uint64{},
			gone: map[string]bool{}, counts: map[string]int{}, truths: map[core.SessionID]*truth{},
		}
		w.b.gated = true
		if spoil != nil {
			spoil(w.b)
		}
		w.b.stored = w.stored
		w.b.purged = w.purged
		for range 3 {
			w.nextNode++
			w.nodes = append(w.nodes, w.newNode(fmt.Sprintf("node%d", w.nextNode)))
		}
		for i := range sessions {
			id := core.SessionID(fmt.Sprintf("session-%d", i))
			w.truths[id] = newTruth(id)
		}
		for i := range actors {
			w.actors = append(w.actors, newActor(w, i))
		}
		w.born()
		w.forecast(forget)
		for w.step < steps && len(w.wrong) == 0 {
			w.advance(true)
		}
		w.finish()
		counts, broken = w.counts, w.verdictText()
	})
	return counts, broken
}

// advance executes one step.
func (w *world) advance(start bool) {
	time.Sleep(time.Duration(200 + w.rng.IntN(1_500_000)))
	synctest.Wait()
	w.step++
	w.disaster()
	var may []func()
	for _, c := range w.b.sortedConns() {
		if until, ok := w.frozen[c.name]; ok && time.Now().Before(until) {
			continue
		}
		may = append(may, func() { w.deliver(w.b.shift(c)) })
	}
	w.mu.Lock()
	slices.SortStableFunc(w.calls, func(a, b *call) int { return strings.Compare(a.what, b.what) })
	for i, c := range w.calls {
		may = append(may, func() {
			w.mu.Lock()
			w.calls = slices.Delete(w.calls, i, i+1)
			w.mu.Unlock()
			w.serve(c)
		})
	}
	w.mu.Unlock()
	for i, th := range w.things {
		if !time.Now().Before(th.due) {
			may = append(may, func() {
				w.things = slices.Delete(w.things, i, i+1)
				w.note("arrives: %s", th.what)
				th.do()
			})
		}
	}
	if idle := w.idle(); start && len(idle) > 0 && w.rng.IntN(1+4*len(may)) == 0 {
		idle[w.rng.IntN(len(idle))].start()
		return
	}
	if len(may) == 0 {
		time.Sleep(w.between(1, 15))
		return
	}
	may[w.rng.IntN(len(may))]()
}

// await runs the world without new work until done.
func (w *world) await(what string, done func() bool) {
	for range 400_000 {
		if done() {
			return
		}
		w.advance(false)
	}
	w.fail("%s does not end", what)
}

// run runs f concurrently with the world and waits for it.
func (w *world) run(what string, f func()) {
	done := make(chan struct{})
	w.procs.Go(func() { defer close(done); f() })
	w.await(what, func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// sortedConns returns the connections with pending messages, sorted by name. It also sorts
// messages that were sent at the same instant, because the seed does not decide which
// goroutine runs first.
func (b *broker) sortedConns() []*conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.conns = slices.DeleteFunc(b.conns, func(c *conn) bool { return c.closed && len(c.in) == 0 })
	var cs []*conn
	for _, c := range b.conns {
		if len(c.in) > 0 {
			slices.SortStableFunc(c.in[c.seen:], func(a, b *pub) int { return strings.Compare(a.key(), b.key()) })
			c.seen = len(c.in)
			cs = append(cs, c)
		}
	}
	slices.SortStableFunc(cs, func(a, b *conn) int { return strings.Compare(a.name, b.name) })
	return cs
}

// key returns the content of a message without random names and in a fixed order of
// headers.
func (p *pub) key() string {
	if verb, stream, _ := api(p.subject); strings.HasPrefix(verb, "CONSUMER") {
		return verb + stream
	}
	headers := strings.Split(string(p.header), "\r\n")
	slices.Sort(headers)
	return p.subject + strings.Join(headers, "\n") + string(p.data)
}

func (b *broker) shift(c *conn) *pub {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := c.in[0]
	c.in, c.seen = c.in[1:], c.seen-1
	return p
}

func (b *broker) sorted() []*jstream {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*jstream
	for _, name := range slices.Sorted(maps.Keys(b.streams)) {
		all = append(all, b.streams[name])
	}
	return all
}

func (w *world) count(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name]++
}

// note adds a line to the trace.
func (w *world) note(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := fmt.Sprintf("%6d %s %s", w.step, time.Now().Format("05.000000"), fmt.Sprintf(format, a...))
	if *tracing {
		fmt.Println(line)
	}
	w.trace = append(w.trace, line)
	if len(w.trace) > 2*keepLast {
		w.trace = slices.Clone(w.trace[keepLast:])
	}
}

// fail records that a promise is broken.
func (w *world) fail(format string, a ...any) {
	s := fmt.Sprintf(format, a...)
	w.note("BROKEN: %s", s)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, s)
}
