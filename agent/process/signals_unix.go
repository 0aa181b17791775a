//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// agentSignals are those that would end this process, or that the agent may use.
// Stop and continue signals (SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT) are not among
// them: they apply to both processes, as shells expect of a job.
var agentSignals = []os.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP,
	unix.SIGUSR1, unix.SIGUSR2,
}

// forwards reports whether to forward s to the agent. The terminal sends keyboard
// signals to the whole foreground group, and most agents treat a second interrupt
// differently.
func (*Process) forwards(s os.Signal) bool {
	if s == unix.SIGINT || s == unix.SIGQUIT {
		return !inForeground()
	}
	return true
}

// inForeground reports whether this process is in the terminal's foreground group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCodeOf returns the exit code of a process, and whether a signal killed it.
func exitCodeOf(s *os.ProcessState) (code int, killed bool) {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignalBase + int(ws.Signal()), true
	}
	return s.ExitCode(), false
}

// Alive reports whether a process with that number exists. The number may belong
// to a different process by now; see Running.
func Alive(pid int) bool { return pid > 0 && unix.Kill(pid, 0) != unix.ESRCH }
