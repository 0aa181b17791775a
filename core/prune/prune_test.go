package prune_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/prune"
)

// NOVA-31, NOVA-32, RATH-47
func TestPruneRemovesOldestFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	all := []prune.Session{
		{ID: "day-old-b", Created: ago(90 * time.Hour), Modified: ago(24 * time.Hour)},
		{ID: "day-old-a", Modified: ago(24 * time.Hour)},
		{ID: "just-over", Modified: ago(24*time.Hour + time.Second)},
		{ID: "no-times"},
		{ID: "old-but-at-work", Created: ago(1000 * time.Hour), Modified: ago(time.Minute)},
		{ID: "only-created", Created: ago(30 * time.Hour)},
		{ID: "in-the-future", Modified: ago(-time.Hour)},
	}
	for name, c := range map[string]struct {
		l    prune.Limits
		want []core.SessionID
	}{
		"no limit":     {prune.Limits{}, nil},
		"a day":        {prune.Limits{MaxAge: 24 * time.Hour}, []core.SessionID{"only-created", "just-over"}},
		"at most five": {prune.Limits{Keep: 5}, []core.SessionID{"only-created", "just-over"}},
		"at most four": {prune.Limits{Keep: 4}, []core.SessionID{"only-created", "just-over", "day-old-a"}},
		"as many":      {prune.Limits{Keep: 7}, nil},
		"both":         {prune.Limits{MaxAge: 24 * time.Hour, Keep: 2}, []core.SessionID{"only-created", "just-over", "day-old-a", "day-old-b", "old-but-at-work"}},
		"one":          {prune.Limits{Keep: 1}, []core.SessionID{"only-created", "just-over", "day-old-a", "day-old-b", "old-but-at-work", "in-the-future"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := slices.Clone(all)
			rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			var got []core.SessionID
			for _, p := range prune.Choose(now, mine, c.l) {
				got = append(got, p.ID)
				if p.Why == "" {
					t.Errorf("%s goes without a reason", p.ID)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if why := prune.Choose(now, all, prune.Limits{MaxAge: 24 * time.Hour})[0].Why; !strings.Contains(why, "since 2026-02-28 18:00") {
		t.Errorf("why: %s", why)
	}
}
