package materializer

import (
	"math/rand/v2"
	"testing"

	"github.com/sesslog/sesslog/core/snapshot"
)

// A rewriting simulates what is written of a session whose lines are replaced while
// the front of its shard is truncated: after each record a checkpoint must cover
// it.
type rewriting struct {
	lines         []int64 // their sizes
	size, written int64
	sent          int64 // bytes of all records
	since         map[int]bool
	changes       []map[int]bool // which lines each change has
	sizes         []int64        // of the changes
}

// newRewriting returns a session of that many lines of each bytes, for which the
// policy has written as much as it ever does.
func newRewriting(lines int, each int64) *rewriting {
	w := &rewriting{since: map[int]bool{}}
	for i := range lines {
		w.send(i, each)
	}
	w.written, w.since = 4*w.size, map[int]bool{}
	return w
}

// send stores a line in place of an existing one.
func (w *rewriting) send(line int, size int64) {
	if line == len(w.lines) {
		w.lines = append(w.lines, 0)
	}
	w.size += size - w.lines[line]
	w.lines[line] = size
	w.sent += size
	w.since[line] = true
}

// sum returns the size of a change with those lines.
func (w *rewriting) sum(lines map[int]bool) (n int64) {
	for i := range lines {
		n += w.lines[i]
	}
	return n
}

// cover covers what was sent, as Keep does.
func (w *rewriting) cover() {
	next := w.sum(w.since)
	switch {
	case w.written <= mostWritten*w.size:
		w.whole()
		return
	case next <= snapshot.MaxInline:
		return
	}
	stay := keptChanges(w.sizes, next)
	for _, c := range w.changes[stay:] {
		for i := range c {
			w.since[i] = true
		}
	}
	if next = w.sum(w.since); next >= w.size/2 {
		w.whole()
		return
	}
	w.changes, w.sizes = append(w.changes[:stay:stay], w.since), append(w.sizes[:stay:stay], next)
	w.written += next
	w.since = map[int]bool{}
}

func (w *rewriting) whole() {
	w.written += w.size
	w.changes, w.sizes, w.since = nil, nil, map[int]bool{}
}

// Replaced lines do not make a session larger, but each is written: snapshots and
// changes have at most five times the session's size plus the input, and with
// bodies of their own six times.
func TestReplacedLinesAreWrittenInProportionToInput(t *testing.T) {
	t.Parallel()
	t.Logf("-seed %d", *seed)
	patterns := map[string]func(rng *rand.Rand, i int, w *rewriting){
		"the last one": func(_ *rand.Rand, _ int, w *rewriting) { w.send(len(w.lines)-1, w.lines[0]) },
		"one by one":   func(_ *rand.Rand, i int, w *rewriting) { w.send(i%len(w.lines), w.lines[0]) },
		"any":          func(rng *rand.Rand, _ int, w *rewriting) { w.send(rng.IntN(len(w.lines)), w.lines[0]) },
		"mostly the end": func(rng *rand.Rand, _ int, w *rewriting) {
			w.send(len(w.lines)-1-rng.IntN(1+rng.IntN(len(w.lines))), w.lines[0])
		},
		"a last one that grows": func(_ *rand.Rand, _ int, w *rewriting) {
			last := len(w.lines) - 1
			w.send(last, w.lines[last]+500)
		},
		"small, then large again": func(_ *rand.Rand, i int, w *rewriting) {
			n := len(w.lines)
			w.send(i%n, []int64{100, 100 << 10}[i/n%2])
		},
		"any, of any size": func(rng *rand.Rand, _ int, w *rewriting) { w.send(rng.IntN(len(w.lines)), 50<<rng.IntN(14)) },
		"several at once": func(rng *rand.Rand, i int, w *rewriting) {
			for range 1 + rng.IntN(20) {
				w.send(rng.IntN(len(w.lines)), w.lines[0])
			}
		},
		"and new ones between": func(rng *rand.Rand, i int, w *rewriting) {
			w.send(rng.IntN(len(w.lines)+1), w.lines[0])
		},
	}
	worst := 0.0
	for name, next := range patterns {
		for _, lines := range []int{1, 10, 300, 10_000} {
			for _, each := range []int64{300, 40 << 10, snapshot.MaxInline + 1} {
				rng := rand.New(rand.NewPCG(*seed, 11))
				w := newRewriting(lines, each)
				for i := range 1500 {
					next(rng, i, w)
					w.cover()
					ratio := float64(w.written) / float64(w.size+w.sent)
					if worst = max(worst, ratio); ratio > 5 {
						t.Fatalf("%s, of %d lines of %d bytes: %d written for %d and %d sent at step %d", name, lines, each, w.written, w.size, w.sent, i)
					}
				}
			}
		}
	}
	t.Logf("%.2f times at most", worst)
}
