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
