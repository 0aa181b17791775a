package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
)

// NOVA-31, NOVA-32, RATH-47
func TestPruneTakesTheOldestFirst(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)
	ago := func(h int) time.Time { return now.Add(-time.Duration(h) * time.Hour) }
	all := []core.Prunable{
		{ID: "s1", Created: ago(100), Modified: ago(1)},
		{ID: "s2", Created: ago(50), Modified: ago(30)},
		{ID: "s3", Created: ago(24)}, // exactly the limit is not beyond it
		{ID: "s4"},                   // no time that can be read
		{ID: "s6", Modified: ago(5)},
		{ID: "s5", Modified: ago(5)},
	}
	for name, c := range map[string]struct {
		limits core.PruneLimits
		want   []core.SessionID
	}{
		"no limit, none goes":        {core.PruneLimits{}, nil},
		"by the last change":         {core.PruneLimits{MaxAge: 24 * time.Hour}, []core.SessionID{"s2"}},
		"too many, ties by id":       {core.PruneLimits{Keep: 2}, []core.SessionID{"s2", "s3", "s5"}},
		"both, the old ones count":   {core.PruneLimits{MaxAge: 24 * time.Hour, Keep: 3}, []core.SessionID{"s2", "s3"}},
		"room enough":                {core.PruneLimits{Keep: 5}, nil},
		"a negative limit is no one": {core.PruneLimits{MaxAge: -1, Keep: -1}, nil},
	} {
		var got []core.SessionID
		for _, p := range core.Prune(all, c.limits, now) {
			if p.Why == "" {
				t.Errorf("%s: %s goes without a reason", name, p.ID)
			}
			got = append(got, p.ID)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}
