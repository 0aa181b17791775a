//go:build !unix

package process

import "os"

// agentSignals are those that would end this process. The console delivers them
// to the agent too.
var agentSignals = []os.Signal{os.Interrupt}

func (p *Process) forwards(os.Signal) bool { return false }

// inForeground always reports true: a console has no background.
func inForeground() bool { return true }

func exitCodeOf(s *os.ProcessState) (code int, killed bool) { return s.ExitCode(), false }

// Alive reports whether a process with that number exists.
func Alive(pid int) bool {
	p, err := os.FindProcess(pid) // opens the process on this platform
	if pid <= 0 || err != nil {
		return false
	}
	_ = p.Release()
	return true
}
