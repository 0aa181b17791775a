package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// FreeAddrs returns n unused loopback addresses. No other test gets them before this
// one has ended, also in other processes, so a server of the test can be stopped and
// started again. Their ports are below the ephemeral range of Linux, so outgoing
// connections do not take them either.
func FreeAddrs(t testing.TB, n int) []string {
	t.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		addr, release, err := ReserveAddr("127.0.0.1")
		Must(t, err)
		t.Cleanup(release)
		addrs[i] = addr
	}
	return addrs
}

// ReserveAddr is FreeAddrs for one address of ip, reserved until release is called or
// the process ends.
func ReserveAddr(ip string) (addr string, release func(), err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sesslog-test-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	for range 1000 {
		port := 12000 + rand.IntN(20000)
		lock := flock.New(filepath.Join(dir, fmt.Sprint(port)))
		locked, lockErr := lock.TryLock()
		if !locked {
			err = errors.Join(lockErr, fmt.Errorf("port %d is reserved", port))
			continue
		}
		addr = net.JoinHostPort(ip, fmt.Sprint(port))
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr, func() { _ = lock.Close() }, nil
		}
		_ = lock.Close()
	}
	return "", nil, fmt.Errorf("no free port: %w", err)
}
