//go:build !linux

package lan

import (
	"errors"
	"os/exec"
)

var errNone = errors.New("network namespaces are Linux's")

// A LAN cannot be made here.
type LAN struct{}

// Missing says why.
func Missing() error { return errNone }

// Enter does nothing.
func Enter(*exec.Cmd) {}

// New fails.
func New(string, int, uint64) (*LAN, error) { return nil, errNone }

// IP is of no use without a LAN.
func (*LAN) IP(int) string { return "" }

// Via is of no use without a LAN.
func (*LAN) Via(int) []string { return nil }

// Set does nothing.
func (*LAN) Set(int, int, Link) {}

// Heal does nothing.
func (*LAN) Heal() {}

// Close does nothing.
func (*LAN) Close() error { return nil }
