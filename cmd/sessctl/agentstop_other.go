//go:build !linux

package main

// stopAlong does nothing here: an agent that stops itself alone leaves sessctl
// running. What is typed to stop reaches both.
func (p *agentProcess) stopAlong() {}
