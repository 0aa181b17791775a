package plane_test

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when the test binary ends
// without cleaning up: by a panic, a timeout or a signal.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
