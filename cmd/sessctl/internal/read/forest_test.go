package read

import (
	"fmt"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

func related(id string, kind lineage.Kind, parents ...string) lineage.Node {
	n := lineage.Node{ID: core.SessionID(id), Created: "2020-01-02T03:04:05.000Z"}
	n.Kind = kind
	for _, p := range parents {
		n.Parents = append(n.Parents, lineage.Parent{Session: core.SessionID(p), Kind: kind})
	}
	return n
}

func TestForestDrawsLongChain(t *testing.T) {
	t.Parallel()
	var nodes []lineage.Node
	for i := range 100_000 {
		nodes = append(nodes, related(fmt.Sprint("n", i), lineage.Fork, fmt.Sprint("n", max(i-1, 0))))
	}
	nodes[0].Parents = nil
	start := time.Now()
	lines := newForest(nodes).lines()
	if len(lines) != len(nodes) || len(lines[len(lines)-1].before) > 200 {
		t.Errorf("%d lines, the last moved by %d", len(lines), len(lines[len(lines)-1].before))
	}
	t.Logf("drawn in %v", time.Since(start))
}
