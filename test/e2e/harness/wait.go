package harness

import (
	"fmt"
	"testing"
	"time"
)

// WaitTimeout bounds how long a test waits for a condition. It is generous, since only
// a failure takes that long.
const WaitTimeout = time.Minute

// longestPause is the longest interval between two checks of a condition.
const longestPause = 100 * time.Millisecond

// Await returns once met returns nil. After WaitTimeout the test fails with the last
// error.
func Await(tb testing.TB, what string, met func() error) {
	tb.Helper()
	if err := awaitFor(met, nil); err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// awaitFor returns once met returns nil, or with its last error when dead is closed or
// after WaitTimeout.
func awaitFor(met func() error, dead <-chan struct{}) error {
	deadline := time.Now().Add(WaitTimeout)
	// Check with backoff: each check asks a node, reads a log or starts a program.
	for pause := 2 * time.Millisecond; ; pause = min(pause+pause/2, longestPause) {
		err := met()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", WaitTimeout, err)
		}
		select {
		case <-time.After(pause):
		case <-dead:
			return fmt.Errorf("the process is dead: %w", err)
		}
	}
}

// Took logs how long a part of a test took, when the part ends:
//
//	defer harness.Took(t, "the import")()
func Took(tb testing.TB, what string) func() {
	began := time.Now()
	return func() {
		tb.Helper()
		tb.Logf("%s took %v", what, time.Since(began).Round(time.Millisecond))
	}
}
