package fire_test

import (
	"context"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/fire/lan"
)

// A fault is one thing that goes wrong for a while.
type fault struct {
	kind  string
	net   bool          // of the network, not of processes
	least time.Duration // it lasts from least to most
	most  time.Duration
	cuts  bool // a server may go on answering without its quorum
	begin func(r *run, node int)
	end   func(r *run, node int)
	pick  func(r *run) int // which node is hit, or all
}

// Faults of processes. A node is its embedded server, too.
var processFaults = []fault{
	{kind: "kill leader", least: 0, most: 5 * time.Second, pick: leader, begin: kill, end: start},
	{kind: "kill other", least: 0, most: 5 * time.Second, pick: other, begin: kill, end: start},
	{kind: "kill all", least: 0, most: 2 * time.Second, pick: everyone, begin: kill, end: start},
	{kind: "pause leader", least: time.Second, most: 14 * time.Second, cuts: true, pick: leader, begin: stop, end: cont},
	{kind: "pause other", least: time.Second, most: 14 * time.Second, cuts: true, pick: other, begin: stop, end: cont},
	{kind: "pause all", least: time.Second, most: 8 * time.Second, cuts: true, pick: everyone, begin: stop, end: cont},
}

// Faults of the network between the nodes. Clients reach all of them, but for
// the one that is unplugged.
var networkFaults = []fault{
	{net: true, kind: "cut off leader", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: leader, begin: links(lan.Cut, lan.Cut), end: heal},
	{net: true, kind: "cut off other", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: other, begin: links(lan.Cut, lan.Cut), end: heal},
	{net: true, kind: "leader not heard", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: leader, begin: links(lan.Cut, lan.Link{}), end: heal},
	{net: true, kind: "leader deaf", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: leader, begin: links(lan.Link{}, lan.Cut), end: heal},
	{net: true, kind: "all cut off", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: everyone, begin: links(lan.Cut, lan.Cut), end: heal},
	{net: true, kind: "leader reset", least: time.Second, most: 10 * time.Second, cuts: true, pick: leader, begin: links(resets, resets), end: heal},
	{net: true, kind: "leader unplugged", least: 5 * time.Second, most: 15 * time.Second, cuts: true, pick: leader, begin: unplug, end: heal},
	{net: true, kind: "loss 20 %", least: 5 * time.Second, most: 10 * time.Second, cuts: true, pick: everyone, begin: links(lossy, lossy), end: heal},
	{net: true, kind: "delay, reorder", least: 5 * time.Second, most: 10 * time.Second, cuts: true, pick: everyone, begin: links(slow, slow), end: heal},
}

var (
	lossy  = lan.Link{Loss: 0.2}
	slow   = lan.Link{Delay: 20 * time.Millisecond, Jitter: 80 * time.Millisecond}
	resets = lan.Link{Reset: true}
)

// all is what a fault hits that picks no single node.
const all = -1

func everyone(*run) int { return all }

// leader is the node that leads most of the streams that the pulses write to.
func leader(r *run) int { return r.rank()[0] }

// other is the one that leads the fewest of them.
func other(r *run) int { return r.rank()[len(r.nodes)-1] }

// rank orders the nodes by how many of the pulses' streams they lead, as one of
// them says.
func (r *run) rank() []int {
	led := make([]int, len(r.nodes))
	for _, c := range r.clients {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		st, err := c.Status(ctx)
		cancel()
		if err != nil || len(st.Shards) == 0 {
			continue
		}
		for _, p := range r.pulses {
			sh := st.Shards[shardOf(p.session, len(st.Shards))]
			if n, err := strconv.Atoi(strings.TrimPrefix(sh.Leader, "n")); err == nil && n <= len(led) && n > 0 {
				led[n-1]++
			}
		}
		break
	}
	nodes := make([]int, len(r.nodes))
	for i := range nodes {
		nodes[i] = i
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return led[b] - led[a] })
	return nodes
}

// shardOf is the stream that a session lives in, as docs/FORMAT.md has it.
func shardOf(session string, shards int) int {
	h := fnv.New32a()
	_, _ = io.WriteString(h, session) // it never fails
	return int(h.Sum32() % uint32(shards))
}

func (r *run) each(node int, do func(int)) {
	for i := range r.nodes {
		if node == all || node == i {
			do(i)
		}
	}
}

func kill(r *run, node int) { r.each(node, func(i int) { r.nodes[i].Kill() }) }

func start(r *run, node int) { r.each(node, func(i int) { r.nodes[i].Launch(r.t) }) }

func stop(r *run, node int) { r.each(node, func(i int) { r.nodes[i].Pause() }) }

func cont(r *run, node int) { r.each(node, func(i int) { r.nodes[i].Continue() }) }

// links makes every link from node to its peers like to, and back like from.
func links(to, from lan.Link) func(*run, int) {
	return func(r *run, node int) {
		r.each(node, func(i int) {
			for j := range r.nodes {
				if j != i {
					r.lan.Set(i+1, j+1, to)
					r.lan.Set(j+1, i+1, from)
				}
			}
		})
	}
}

// unplug cuts a node off from its peers, clients, and the object store.
func unplug(r *run, node int) {
	links(lan.Cut, lan.Cut)(r, node)
	r.each(node, func(i int) {
		r.lan.Set(0, i+1, lan.Cut)
		r.lan.Set(i+1, 0, lan.Cut)
	})
}

func heal(r *run, _ int) { r.lan.Heal() }

// A happening is a fault that was.
type happening struct {
	kind                  string
	cuts                  bool
	begin, end, recovered time.Duration // end is 0 while it lasts
}

// staleFor is how long after a fault a server may go on answering from what it
// knew: it asks itself every ten seconds whether it still has its quorum, and
// connections need a while to notice that the network is back.
const staleFor = 30 * time.Second

// mayBeStale reports whether what was called and answered then may have come
// from a server that was cut off.
func (r *run) mayBeStale(call, back time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.faults {
		if h.cuts && len(r.nodes) > 1 && back >= h.begin && (h.end == 0 || call <= h.end+staleFor) {
			return true
		}
	}
	return false
}

// burn lets faults happen until the run is over, each alone or two at a time,
// and waits for recovery after each.
func (r *run) burn(t *testing.T, kinds []fault, length time.Duration) {
	rng := rand.New(rand.NewPCG(r.seed, 0))
	var order []fault // every kind once before any comes twice
	for r.history.now() < length {
		for len(order) < 2 {
			order = append(order, kinds...)
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		n := 1
		if r.mixed && rng.IntN(3) == 0 {
			n = 2
		}
		r.happen(t, rng, order[:n])
		order = order[n:]
		pause(t.Context(), time.Duration(500+rng.IntN(1000))*time.Millisecond)
	}
}

// happen lets faults begin one after the other, overlap, and end.
func (r *run) happen(t *testing.T, rng *rand.Rand, fs []fault) {
	var ends []func()
	var names []string
	hit := map[bool]int{} // by whether it is the network
	for _, f := range fs {
		node := f.pick(r)
		if before, ok := hit[f.net]; ok && (node == before || node == all || before == all) {
			continue // a node is down already
		}
		hit[f.net] = node
		names = append(names, f.kind)
		at := r.begin(f)
		f.begin(r, node)
		ends = append(ends, func() {
			f.end(r, node)
			r.over(at)
		})
		pause(t.Context(), f.least+time.Duration(rng.Int64N(int64(f.most-f.least))))
	}
	for _, end := range ends {
		end()
	}
	for _, n := range r.nodes {
		n.AwaitReady(t)
	}
	r.await(t, "writes after "+strings.Join(names, " and "), r.history.now())
	r.recovered()
}

func (r *run) begin(f fault) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, happening{kind: f.kind, cuts: f.cuts, begin: r.history.now()})
	return len(r.faults) - 1
}

func (r *run) over(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[i].end = r.history.now()
}

// recovered notes that all is well after the faults that are over.
func (r *run) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.faults {
		if r.faults[i].recovered == 0 {
			r.faults[i].recovered = r.history.now()
		}
	}
}
