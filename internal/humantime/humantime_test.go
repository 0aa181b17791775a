package humantime_test

import (
	"testing"
	"time"

	"github.com/sesslog/sesslog/internal/humantime"
)

func TestShort(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 12, 0, 0, 0, time.Local)
	for want, at := range map[string]time.Time{
		"":             {},
		"11:59:58":     now.Add(-2 * time.Second),
		"Mar 02 08:00": time.Date(2026, 3, 2, 8, 0, 0, 0, time.Local),
		"2025-05-06":   now.AddDate(-1, 0, 0),
	} {
		if got := humantime.Short(at, now); got != want {
			t.Errorf("Short(%s) = %q, want %q", at, got, want)
		}
	}
}

func TestAgoIsNeverNegative(t *testing.T) {
	t.Parallel()
	now := time.Unix(100, 0)
	if got := humantime.Ago(now.Add(-3*time.Second), now); got != "3s ago" {
		t.Errorf("Ago = %q", got)
	}
	if got := humantime.Ago(now.Add(time.Hour), now); got != "0s ago" {
		t.Errorf("Ago of a future time = %q", got)
	}
}

func TestSinceHasOneUnit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 26, 12, 0, 0, 0, time.Local)
	for want, at := range map[string]time.Time{
		"":           {},
		"now":        now.Add(time.Hour),
		"1m ago":     now.Add(-119 * time.Second),
		"23h ago":    now.Add(-24*time.Hour + 1),
		"6d ago":     now.Add(-7*24*time.Hour + 1),
		"Mar 02":     time.Date(2026, 3, 2, 8, 0, 0, 0, time.Local),
		"2025-05-06": time.Date(2025, 5, 6, 8, 0, 0, 0, time.Local),
	} {
		if got := humantime.Since(at, now); got != want {
			t.Errorf("Since(%s) = %q, want %q", at, got, want)
		}
	}
}
