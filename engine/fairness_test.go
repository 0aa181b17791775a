package engine

import (
	"testing"
	"time"
)

func TestFairnessLeavesGaps(t *testing.T) {
	t.Parallel()
	const took, gap = 5 * time.Millisecond, minGap + 2*5*time.Millisecond
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		name string
		of   fairness
		now  time.Duration
		want time.Duration
	}{
		{"nothing was stored yet", fairness{}, 0, 0},
		{"alone, at once", fairness{busySince: start, stored: at(time.Second), took: took}, time.Second, 0},
		{"alone, for two seconds", fairness{busySince: start, stored: at(maxBurst), took: took}, maxBurst, gap},
		{"alone, after a gap of its own", fairness{busySince: start, stored: at(maxBurst), took: took}, maxBurst + gap, 0},
		{"others, at once", fairness{busySince: start, stored: at(time.Second), took: took, lostRace: start}, time.Second, gap},
		{"others, a little later", fairness{busySince: start, stored: at(time.Second), took: took, lostRace: start}, time.Second + gap/2, gap / 2},
		{"others, long ago", fairness{busySince: at(contendedFor), stored: at(contendedFor), took: took, lostRace: start}, contendedFor, 0},
		{"a slow server", fairness{stored: start, took: time.Minute, lostRace: start}, 0, maxGap},
	} {
		if got := c.of.wait(at(c.now)); got != c.want {
			t.Errorf("%s: the gap is %v, want %v", c.name, got, c.want)
		}
	}
	c := fairness{busySince: start, stored: at(maxBurst), took: took}
	c.wait(at(maxBurst))
	if got := c.wait(at(maxBurst)); got != 0 {
		t.Errorf("another gap of %v follows the gap", got)
	}
}
