package materializer

import (
	"math/rand/v2"
	"testing"

	"github.com/sesslog/sesslog/core/snapshot"
)

// A thrift simulates what is written of a session that is truncated all the time:
// after each append a checkpoint must cover it.
type thrift struct {
	size, written, since int64
	changes              []int64
	most                 int // parts
}

// step appends n bytes, and covers them as Keep does.
func (g *thrift) step(n int64) {
	g.size, g.since = g.size+n, g.since+n
	switch {
	case g.written <= mostWritten*g.size:
		g.whole()
		return
	case g.since <= snapshot.MaxInline:
		return
	}
	stay := keptChanges(g.changes, g.since)
	next := g.since
	for _, c := range g.changes[stay:] {
		next += c
	}
	if next >= g.size/2 {
		g.whole()
		return
	}
	g.changes, g.since = append(g.changes[:stay:stay], next), 0
	g.written += next
	g.most = max(g.most, len(g.changes)+2)
}

func (g *thrift) whole() { g.written, g.changes, g.since = g.written+g.size, nil, 0 }

// Snapshots and changes have at most five times the size of a session, and with
// bodies of their own six times, whatever is appended between truncations.
func TestTruncatedSessionIsWrittenInProportionToInput(t *testing.T) {
	t.Parallel()
	t.Logf("-seed %d", *seed)
	const just = snapshot.MaxInline + 1
	patterns := map[string]func(rng *rand.Rand, i int, size int64) int64{
		"a line":               func(*rand.Rand, int, int64) int64 { return 300 },
		"just too much inline": func(*rand.Rand, int, int64) int64 { return just },
		"doubling":             func(_ *rand.Rand, i int, _ int64) int64 { return just << (i % 8) },
		"halving":              func(_ *rand.Rand, i int, _ int64) int64 { return just << (7 - i%8) },
		"alternating":          func(_ *rand.Rand, i int, _ int64) int64 { return []int64{300, just, 11 * just, 12 * just}[i%4] },
		"in proportion":        func(_ *rand.Rand, i int, size int64) int64 { return int64(i%40)*size/2000 + 1 },
		"anything":             func(rng *rand.Rand, _ int, _ int64) int64 { return 1 << rng.IntN(22) },
		"mostly little":        func(rng *rand.Rand, _ int, size int64) int64 { return 1 + size*(rng.Int64N(100)/99)/20 },
	}
	sizes := []int64{1, 1 << 10, 300 << 10, 3 << 20, 30 << 20, 300 << 20, 1 << 30}
	for name, next := range patterns {
		for _, size := range sizes {
			rng := rand.New(rand.NewPCG(*seed, 9))
			g := &thrift{size: size, written: 4 * size} // as much as the policy ever writes
			for i := 0; i < 100_000 && g.size < 4<<30; i++ {
				g.step(next(rng, i, g.size))
				if g.size <= 1<<30 && g.written > 5*g.size {
					t.Fatalf("%s, from %d bytes: %d written for %d at step %d", name, size, g.written, g.size, i)
				}
				if g.most > snapshot.MaxParts {
					t.Fatalf("%s, from %d bytes: %d parts", name, size, g.most)
				}
			}
		}
	}
}
