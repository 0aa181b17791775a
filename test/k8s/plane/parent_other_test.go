//go:build !linux

package plane_test

import "os/exec"

// dieWithParent does nothing: only Linux has the means.
func dieWithParent(*exec.Cmd) {}
