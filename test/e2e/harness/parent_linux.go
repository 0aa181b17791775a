package harness

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the process if the test binary ends without
// cleanup: by a panic in a goroutine, a timeout or a signal.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
