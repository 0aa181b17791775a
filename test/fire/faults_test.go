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

// A fault is a temporary failure.
type fault struct {
	kind  string
	net   bool          // of the network, not of processes
	least time.Duration // it lasts from least to most
	most  time.Duration
	cuts  bool // a server may answer without a quorum
	begin func(r *run, node int)
	end   func(r *run, node int)
	pick  func(r *run) int // the affected node, or all
}

// Faults of processes. A node includes its embedded server.
var processFaults = []fault{
	{kind: "kill leader", least: 0, most: 5 * time.Second, pick: leader, begin: kill, end: start},
	{kind: "kill other", least: 0, most: 5 * time.Second, pick: other, begin: kill, end: start},
	{kind: "kill all", least: 0, most: 2 * time.Second, pick: everyone, begin: kill, end: start},
	{kind: "pause leader", least: time.Second, most: 14 * time.Second, cuts: true, pick: leader, begin: stop, end: cont},
	{kind: "pause other", least: time.Second, most: 14 * time.Second, cuts: true, pick: other, begin: stop, end: cont},
	{kind: "pause all", least: time.Second, most: 8 * time.Second, cuts: true, pick: everyone, begin: stop, end: cont},
}

// Faults of the network between the nodes. Clients can reach all nodes except an unplugged
// one.
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

// all is the target of a fault that affects every node.
const all = -1

func everyone(*run) int { return all }

// leader returns the node that leads most of the streams of the pulses.
func leader(r *run) int { return r.rank()[0] }

// other returns the node that leads the fewest of them.
func other(r *run) int { return r.rank()[len(r.nodes)-1] }

// rank sorts the nodes by the number of the pulses' streams that they lead.
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

// shardOf returns the shard of a session according to docs/FORMAT.md.
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

// links sets every link from node to its peers, and every link from them to node.
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

// unplug disconnects a node from its peers, the clients, and the object store.
func unplug(r *run, node int) {
	links(lan.Cut, lan.Cut)(r, node)
	r.each(node, func(i int) {
		r.lan.Set(0, i+1, lan.Cut)
		r.lan.Set(i+1, 0, lan.Cut)
	})
}

func heal(r *run, _ int) { r.lan.Heal() }

// A happening is a fault that occurred.
type happening struct {
	kind                  string
	cuts                  bool
	begin, end, recovered time.Duration // end is 0 while it lasts
}

// staleFor is how long after a fault a server may give old answers: it checks its quorum
// every ten seconds, and connections detect a healed network after a delay.
const staleFor = 30 * time.Second

// mayBeStale reports whether a call at that time may have been answered by a server without
// a quorum.
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

// burn injects faults until the run ends, one or two at a time, and waits for recovery
// after each.
func (r *run) burn(t *testing.T, kinds []fault, length time.Duration) {
	rng := rand.New(rand.NewPCG(r.seed, 0))
	var order []fault // every kind once before any kind repeats
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

// happen begins faults one after the other, lets them overlap, and ends them.
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

// recovered records the recovery from the faults that have ended.
func (r *run) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.faults {
		if r.faults[i].recovered == 0 {
			r.faults[i].recovered = r.history.now()
		}
	}
}
