package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// WaitTimeout bounds how long a test waits for a condition. It is generous, since only
// a failure takes that long.
const WaitTimeout = time.Minute

// longestPause is the longest interval between two checks of a condition.
const longestPause = 50 * time.Millisecond

// Await returns once met returns nil. After WaitTimeout the test fails with the last
// error.
func Await(tb testing.TB, what string, met func() error) {
	tb.Helper()
	if err := awaitFor(WaitTimeout, met, nil); err != nil {
		tb.Fatalf("%s: %v", what, err)
	}
}

// awaitFor returns once met returns nil, or with its last error when dead is closed or
// the timeout expires.
func awaitFor(timeout time.Duration, met func() error, dead <-chan struct{}) error {
	deadline := time.Now().Add(timeout)
	// Check with backoff: each check asks a node or reads a log.
	for pause := 2 * time.Millisecond; ; pause = min(pause+pause/4, longestPause) {
		err := met()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %v: %w", timeout, err)
		}
		select {
		case <-time.After(pause):
		case <-dead:
			return fmt.Errorf("the process is dead: %w", err)
		}
	}
}

// FreeAddrs returns n unused loopback addresses. Their ports are below the ephemeral
// range of Linux, so that none is taken while a node restarts.
func FreeAddrs(tb testing.TB, n int) []string {
	tb.Helper()
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			if tries > 1000 {
				tb.Fatalf("no free port: %v", err)
			}
			continue
		}
		defer l.Close() // keep all open until the end, so that they differ
		addrs = append(addrs, addr)
	}
	return addrs
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
