//go:build !unix

package harness

// Pause does nothing: only Unix supports it.
func (n *Node) Pause() {}

// Continue does nothing.
func (n *Node) Continue() {}
