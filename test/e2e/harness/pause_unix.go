//go:build unix

package harness

import "syscall"

// Pause stops the node where it is, as a machine that sleeps does, until
// Continue. A paused node can be killed.
func (n *Node) Pause() { _ = n.process.signal(syscall.SIGSTOP) } // it fails only for the dead

// Continue has a paused node go on.
func (n *Node) Continue() { _ = n.process.signal(syscall.SIGCONT) } // as above
