// Package jitter draws how long to wait before the next try. What is drawn is
// random, unless a simulation asks for a sequence that can be played again.
package jitter

import (
	"math/rand/v2"
	"sync"
	"time"
)

var (
	mu   sync.Mutex
	seed *uint64 // nil for what nobody can foresee
)

// Between returns a random duration from low on, and below high.
func Between(low, high time.Duration) time.Duration {
	mu.Lock()
	defer mu.Unlock()
	if seed == nil {
		return low + rand.N(high-low)
	}
	r := rand.New(rand.NewPCG(*seed, uint64(time.Now().UnixNano())))
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// Seed makes all that this process draws from now on follow from s and the time
// it is drawn at, and not from who of several comes first. It is for simulations,
// which play one history at a time, in virtual time.
func Seed(s uint64) {
	mu.Lock()
	defer mu.Unlock()
	seed = &s
}
