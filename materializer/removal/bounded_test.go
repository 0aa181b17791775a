package removal

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

var seed = flag.Uint64("seed", 1, "of random tests; they print it")

func randomStandings(rng *rand.Rand, n int) []rank {
	ps := make([]rank, n)
	for i := range ps {
		ps[i] = rank{time.Unix(rng.Int64N(50), 0), core.SessionID(fmt.Sprintf("session-%03d", i))} // many have the same time
	}
	return ps
}

func TestRuleKeepsLatestOfEachGroup(t *testing.T) {
	t.Parallel()
	t.Logf("-seed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 7))
	for range 200 {
		var k latest
		keep := 1 + rng.IntN(9)
		groups := map[string][]rank{}
		for _, p := range randomStandings(rng, rng.IntN(60)) {
			group := []string{"a", "b", ""}[rng.IntN(3)]
			groups[group] = append(groups[group], p)
			k.add(group, keep, p)
		}
		for group, ps := range groups {
			slices.SortFunc(ps, rank.compare)
			for i, p := range ps {
				if got, want := k.has(group, keep, p), i < keep; got != want {
					t.Fatalf("%v, number %d of %d in group %q, of which %d are kept: kept is %v", p, i, len(ps), group, keep, got)
				}
			}
			if n := len(*k[group]); n > keep {
				t.Errorf("%d are remembered of %d", n, keep)
			}
		}
	}
}

func TestPlanIsLimitedToOldestSessions(t *testing.T) {
	t.Parallel()
	t.Logf("-seed %d", *seed)
	rng := rand.New(rand.NewPCG(*seed, 8))
	for range 200 {
		o := oldest{most: 1 + rng.IntN(9)}
		var all []report.Item
		for _, p := range randomStandings(rng, rng.IntN(60)) {
			it := report.Item{Session: p.id, Last: p.last}
			all = append(all, it)
			if o.add(it); len(o.items) > 2*o.most {
				t.Fatalf("%d items are in memory for %d", len(o.items), o.most)
			}
		}
		slices.SortFunc(all, func(a, b report.Item) int {
			return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Session, b.Session))
		})
		got := o.sorted()
		if want := all[:min(len(all), o.most)]; !slices.Equal(got, want) || o.more != (len(all) > o.most) || got == nil {
			t.Fatalf("%v, more %v; want %v of %d", got, o.more, want, len(all))
		}
	}
}
