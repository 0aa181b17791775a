package harness

import (
	"path/filepath"
	"testing"
)

// NewNodeExactly is NewNode with that command line and that environment and
// nothing else in them, but for a home and a PATH. Whoever gives them says
// where the node keeps its data and listens.
func NewNodeExactly(tb testing.TB, args, env []string) *Node {
	tb.Helper()
	dir := tb.TempDir()
	n := &Node{Env: env, args: args, home: dir, log: filepath.Join(dir, "node.log")}
	tb.Cleanup(func() {
		n.Kill()
		if tb.Failed() {
			tb.Logf("log of the node with %v:\n%s", args, n.Log())
		}
	})
	return n
}
