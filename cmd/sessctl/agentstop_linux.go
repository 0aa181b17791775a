package main

import (
	"golang.org/x/sys/unix"
)

// stopAlong stops sessctl when the agent has stopped itself alone, so that the
// shell, which knows only sessctl, gets its terminal back. What is typed to stop
// reaches both, and needs nothing of this.
func (p *agentProcess) stopAlong() {
	pid := p.cmd.Process.Pid
	for {
		var info unix.Siginfo
		// Only looking: the end is for cmd.Wait to collect.
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.Code != cldStopped {
			return
		}
		// Where both were stopped, this is reached when both go on again. So the
		// stop is collected only if it lasts.
		info = unix.Siginfo{}
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
		if err != nil || info.Code != cldStopped {
			continue
		}
		p.stopped.Store(true)
		_ = unix.Kill(unix.Getpid(), unix.SIGTSTP)
	}
}

const cldStopped = 5 // CLD_STOPPED in wait's siginfo
