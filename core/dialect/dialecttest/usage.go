package dialecttest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// Grows requires that a summary which is kept up to date while the session grows
// is the summary of the whole, and that its usage is that of a usage.Fold.
func Grows(t testing.TB, d core.Dialect, h core.Header, es []core.Entry) {
	t.Helper()
	if _, ok := d.(optional.Summarizing); !ok {
		t.Errorf("%s reads all entries for each summary", d.Name())
	}
	for seed := range uint64(1 + 200/(1+len(es))) {
		growsBy(t, d, h, es, rand.New(rand.NewPCG(uint64(len(es)), seed)))
	}
}

// growsBy is Grows with random steps.
func growsBy(t testing.TB, d core.Dialect, h core.Header, es []core.Entry, random *rand.Rand) {
	t.Helper()
	growing, fold := optional.NewSummarizer(d, h), usage.NewFold(d, h)
	for n := 0; ; {
		want := d.Summary(h, es[:n])
		if diff := cmp.Diff(want, growing.Summary(es[:n:n])); diff != "" {
			t.Fatalf("the summary of %d entries, step by step (-whole +growing):\n%s", n, diff)
		}
		if !sameUsage(want.Usage, fold.Own()) {
			t.Fatalf("the usage of %d entries is %+v in the summary and %+v in the fold", n, want.Usage, fold.Own())
		}
		if n == len(es) {
			return
		}
		step := min(1+random.IntN(1+len(es)/8), len(es)-n)
		fold.Add(es[n : n+step]...)
		n += step
	}
}

// sameUsage compares costs apart from the order in which they were added.
func sameUsage(a, b item.Usage) bool {
	near := math.Abs(a.Cost-b.Cost) <= 1e-9*max(1, math.Abs(a.Cost))
	a.Cost, b.Cost = 0, 0
	return near && a == b
}
