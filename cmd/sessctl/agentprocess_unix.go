//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// agentSignals are those that would end sessctl, or that the agent may want.
// Those that stop (SIGTSTP, SIGTTIN, SIGTTOU) are not among them: they stop
// both, which is what a shell expects of a job.
var agentSignals = []os.Signal{
	unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP,
	unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT,
}

// forwards reports whether s, which sessctl was sent, is to be passed on. Of
// what is typed the terminal has told the agent already, and an interrupt that
// comes twice means something else to most agents.
func (p *agentProcess) forwards(s os.Signal) bool {
	switch s {
	case unix.SIGINT, unix.SIGQUIT:
		return !inForeground()
	case unix.SIGCONT:
		return p.stopped.Swap(false)
	}
	return true
}

// inForeground reports whether this process group is the one that its terminal
// sends what is typed to.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// exitCodeOf is a process's exit code, and whether it died of a signal.
func exitCodeOf(s *os.ProcessState) (code int, died bool) {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignalBase + int(ws.Signal()), true
	}
	return s.ExitCode(), false
}

// alive reports whether there is a process of that number. It may be another by
// now.
func alive(pid int) bool { return pid > 0 && unix.Kill(pid, 0) != unix.ESRCH }
