//go:build !unix

package sandbox

import "os/exec"

// inGroup does nothing: the context ends the command alone.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
