package s3server

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the server if the test binary ends without
// cleanup: by a panic in a goroutine, a timeout or a signal.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
