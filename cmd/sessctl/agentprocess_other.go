//go:build !unix

package main

import "os"

// agentSignals are those that would end sessctl: the console tells the agent
// by itself.
var agentSignals = []os.Signal{os.Interrupt}

func (p *agentProcess) forwards(os.Signal) bool { return false }

// inForeground: a console has no background.
func inForeground() bool { return true }

func exitCodeOf(s *os.ProcessState) (code int, died bool) { return s.ExitCode(), false }

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	p, err := os.FindProcess(pid) // it opens the process here
	if pid <= 0 || err != nil {
		return false
	}
	_ = p.Release()
	return true
}
