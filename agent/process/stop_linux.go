package process

import (
	"golang.org/x/sys/unix"
)

// stopTogether stops this process when the agent has stopped only itself, so that
// the shell, which knows only this process, gets its terminal back. The stop key
// and the continue signal reach both processes anyway.
func (p *Process) stopTogether() {
	pid := p.cmd.Process.Pid
	for {
		var info unix.Siginfo
		// WNOWAIT: cmd.Wait collects the exit status.
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || info.Code != cldStopped {
			return
		}
		// If both were stopped, this point is reached after both have continued. So
		// collect the stop only if the agent is still stopped.
		info = unix.Siginfo{}
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
		if err != nil || info.Code != cldStopped {
			continue
		}
		_ = unix.Kill(unix.Getpid(), unix.SIGTSTP)
	}
}

const cldStopped = 5 // CLD_STOPPED
