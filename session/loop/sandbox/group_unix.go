//go:build unix

package sandbox

import (
	"os/exec"
	"syscall"
)

// inGroup makes a command the leader of a group of processes, all of which end with
// its context.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills what is left of the group.
func killGroup(c *exec.Cmd) {
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // as a rule nothing is left
	}
}
