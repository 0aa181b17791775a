package server

import (
	"testing"
	"time"
)

func TestSlowBodiesHaveAnEnd(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]time.Duration{
		0:           bodyGrace,
		100:         bodyGrace, // a byte every ten seconds buys no time
		minBodyRate: bodyGrace + time.Second,
		512 << 20:   maxBodyTime,
	} {
		if got := bodyTime(n); got != want {
			t.Errorf("of a body of which %d bytes came, the rest may take %v; want %v", n, got, want)
		}
	}
}
