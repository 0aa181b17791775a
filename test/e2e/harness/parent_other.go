//go:build !linux

package harness

import "os/exec"

// dieWithParent does nothing: only Linux supports it.
func dieWithParent(*exec.Cmd) {}
