package harness

import (
	"path/filepath"
	"testing"
)

// NewNodeExactly is NewNode with exactly that command line and environment, plus HOME
// and PATH. The caller sets the data directory and the listen address.
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
