package damage_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A damagedCase is one file of a copy of the fixture that is damaged in one way.
type damagedCase struct {
	kind, path string
	other      string // of the same kind, "" if there is none
	way        way
	killed     bool
	seed       uint64
}

func (dc damagedCase) String() string {
	stop := "clean"
	if dc.killed {
		stop = "killed"
	}
	return fmt.Sprintf("%s, %s, %s, %s, seed %d", dc.kind, dc.way.name, stop, dc.path, dc.seed)
}

// isOfSessions reports whether sessions are read from such files, or collectors decide by
// them. The collectors run after a quarter of the other cases.
func (dc damagedCase) isOfSessions() bool {
	for _, prefix := range []string{"log ", "store snapshots", "store blobs", "index.db"} {
		if strings.HasPrefix(dc.kind, prefix) {
			return true
		}
	}
	return false
}

// The outcomes of a case.
const (
	whole   = "whole"   // every session is byte-identical
	healed  = "healed"  // it is, and something is reported
	named   = "named"   // what is missing is named, and the rest can be read
	refuses = "refuses" // the node does not start, and says why
	failed  = "FAILED"
)

var outcomes = []string{whole, healed, named, refuses, failed}

// shortKinds are the kinds of files that are damaged without -long and -only: those from
// which sessions are read.
var shortKinds = []string{"log blk", "log sum", "index.db", "store blobs", "store snapshots"}

// Whatever happens to a file of a node, it serves the acknowledged bytes, or names what
// is missing. It deletes no snapshot that a session may be restored from.
func TestDamageHasAClearOutcome(t *testing.T) {
	t.Parallel()
	f := build(t)
	cases := slices.DeleteFunc(f.cases(t), func(dc damagedCase) bool {
		if *long == 0 && *only == "" {
			return !slices.Contains(shortKinds, dc.kind)
		}
		return !strings.Contains(dc.String(), *only)
	})
	tb := &table{counts: map[string]map[string]int{}}
	runAll(t, cases, func(t *testing.T, dc damagedCase) {
		began := time.Now()
		outcome, peak, err := f.run(t, dc)
		if err != nil {
			t.Errorf("%s: %v", dc, err)
			outcome = failed
		}
		tb.add(dc.kind, outcome, peak, time.Since(began))
	})
	t.Logf("seed %d, one node, %d cases:\n%s", *seed, len(cases), tb)
}

// parallelCases is how many cases run at once. They wait more than they work.
const parallelCases = 4

// runAll runs a subtest for each case.
func runAll[C fmt.Stringer](t *testing.T, cases []C, run func(*testing.T, C)) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelCases)
	for _, c := range cases {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(c.String(), func(t *testing.T) { run(t, c) })
		})
	}
	wg.Wait()
}

// cases returns *long cases of each kind of file, way and stop, or one of each kind.
func (f *fixture) cases(t *testing.T) (out []damagedCase) {
	t.Helper()
	r := rand.New(rand.NewPCG(*seed, 0))
	for _, killed := range []bool{false, true} {
		kinds := filesByKind(t, f.dir(killed))
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			var of []damagedCase
			for _, w := range ways {
				for range max(*long, 1) {
					of = append(of, f.damagedCase(r, kind, kinds[kind], w, killed))
				}
			}
			if *long == 0 {
				of = of[r.IntN(len(of)):][:1]
			}
			out = append(out, of...)
		}
	}
	if *long == 0 { // one of the two stops
		perm := r.Perm(len(out))
		seen := map[string]bool{}
		var some []damagedCase
		for _, i := range perm {
			if !seen[out[i].kind] {
				some = append(some, out[i])
			}
			seen[out[i].kind] = true
		}
		out = some
	}
	return out
}

func (f *fixture) damagedCase(r *rand.Rand, kind string, paths []string, w way, killed bool) damagedCase {
	dc := damagedCase{kind: kind, path: paths[r.IntN(len(paths))], way: w, killed: killed, seed: r.Uint64()}
	dc.other = filepath.Join(f.older, dc.path)
	if other := paths[r.IntN(len(paths))]; r.IntN(2) == 0 && other != dc.path {
		dc.other = filepath.Join(f.dir(killed), other)
	}
	return dc
}

func (f *fixture) dir(killed bool) string {
	if killed {
		return f.killed
	}
	return f.clean
}

// A table counts outcomes by kind of file.
type table struct {
	mu     sync.Mutex
	counts map[string]map[string]int
	took   []time.Duration
	peak   int64
}

func (tb *table) add(kind, outcome string, peak int64, took time.Duration) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.counts[kind] == nil {
		tb.counts[kind] = map[string]int{}
	}
	tb.counts[kind][outcome]++
	tb.took = append(tb.took, took)
	tb.peak = max(tb.peak, peak)
}

func (tb *table) String() string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	var b strings.Builder
	all := map[string]int{}
	fmt.Fprintf(&b, "%-28s", "kind of file")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "%9s", o)
	}
	for _, kind := range slices.Sorted(maps.Keys(tb.counts)) {
		fmt.Fprintf(&b, "\n%-28s", kind)
		for _, o := range outcomes {
			fmt.Fprintf(&b, "%9d", tb.counts[kind][o])
			all[o] += tb.counts[kind][o]
		}
	}
	fmt.Fprintf(&b, "\n%-28s", "all")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "%9d", all[o])
	}
	slices.SortFunc(tb.took, cmp.Compare)
	if n := len(tb.took); n > 0 {
		round := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
		fmt.Fprintf(&b, "\na case took %v (median), %v (95 %%), %v (longest); most memory of a node: %d MiB",
			round(tb.took[n/2]), round(tb.took[n*95/100]), round(tb.took[n-1]), tb.peak>>20)
	}
	return b.String()
}
