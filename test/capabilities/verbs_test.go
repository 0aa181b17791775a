package capabilities

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sesslog/sesslog/test/e2e/harness"
)

// ownNodes are the nodes that scenarios start for themselves.
type ownNodes struct {
	t   *testing.T
	bin string

	mu sync.Mutex
	by map[string]*harness.Node // by scenario and name
}

// node is the verb
//
//	node NAME start [ARGS...]   starts a node, and sets $NAME to its address and $NAME_DATA to its data
//	node NAME kill              kills it
//	node NAME restart           kills it and starts it again
func (o *ownNodes) node(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: node NAME start|kill|restart [args...]")
	}
	key := ts.Getenv("WORK") + " " + args[0]
	o.mu.Lock()
	n := o.by[key]
	if n == nil {
		n = harness.NewNode(o.t, args[2:]...)
		n.Program = filepath.Join(o.bin, "sessnode")
		n.Env = append(n.Env, mutationEnv+"="+os.Getenv(mutationEnv))
		o.by[key] = n
		ts.Defer(n.Kill)
	}
	o.mu.Unlock()
	n.Kill()
	if args[1] == "kill" {
		return
	}
	n.Start(o.t)
	ts.Setenv(args[0], n.URL)
	ts.Setenv(args[0]+"_DATA", n.Data)
}
