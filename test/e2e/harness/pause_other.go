//go:build !unix

package harness

// Pause does nothing: only Unix has the means.
func (n *Node) Pause() {}

// Continue does nothing.
func (n *Node) Continue() {}
