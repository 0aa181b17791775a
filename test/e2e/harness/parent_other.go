//go:build !linux

package harness

import "os/exec"

// dieWithParent does nothing: only Linux has the means.
func dieWithParent(*exec.Cmd) {}
