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
	from *rand.Rand // nil for what nobody can foresee
)

// Between returns a random duration from low on, and below high.
func Between(low, high time.Duration) time.Duration {
	mu.Lock()
	defer mu.Unlock()
	if from == nil {
		return low + rand.N(high-low)
	}
	return low + time.Duration(from.Int64N(int64(high-low)))
}

// Seed makes all that this process draws from now on follow from seed. It is
// for simulations, which play one history at a time.
func Seed(seed uint64) {
	mu.Lock()
	defer mu.Unlock()
	from = rand.New(rand.NewPCG(seed, seed))
}
