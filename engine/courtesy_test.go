package engine

import (
	"testing"
	"time"
)

func TestALineLeavesAGapEachTimeForOthersAndElseEveryTwoSeconds(t *testing.T) {
	t.Parallel()
	const took, gap = 5 * time.Millisecond, leastGap + 2*5*time.Millisecond
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		name string
		of   courtesy
		now  time.Duration
		want time.Duration
	}{
		{"nothing was stored yet", courtesy{}, 0, 0},
		{"alone, at once", courtesy{began: start, stored: at(time.Second), took: took}, time.Second, 0},
		{"alone, for two seconds", courtesy{began: start, stored: at(aloneFor), took: took}, aloneFor, gap},
		{"alone, after a gap of its own", courtesy{began: start, stored: at(aloneFor), took: took}, aloneFor + gap, 0},
		{"others, at once", courtesy{began: start, stored: at(time.Second), took: took, passed: start}, time.Second, gap},
		{"others, a little later", courtesy{began: start, stored: at(time.Second), took: took, passed: start}, time.Second + gap/2, gap / 2},
		{"others, long ago", courtesy{began: at(sharedFor), stored: at(sharedFor), took: took, passed: start}, sharedFor, 0},
		{"a slow server", courtesy{stored: start, took: time.Minute, passed: start}, 0, mostGap},
	} {
		if got := c.of.rest(at(c.now)); got != c.want {
			t.Errorf("%s: it rests %v, and should %v", c.name, got, c.want)
		}
	}
	c := courtesy{began: start, stored: at(aloneFor), took: took}
	c.rest(at(aloneFor))
	if got := c.rest(at(aloneFor)); got != 0 {
		t.Errorf("after its gap it rests again, %v", got)
	}
}
