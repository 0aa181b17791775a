package lineage_test

import (
	"fmt"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// A hundred thousand sessions, each a fork of an earlier one: what a question
// about one of them costs a node.
func BenchmarkGraph(b *testing.B) {
	nodes := make([]lineage.Node, 100_000)
	for i := range nodes {
		nodes[i] = node(fmt.Sprintf("session-%06d", i), fmt.Sprintf("session-%06d", i/3))
	}
	nodes[0].Parents = nil
	for b.Loop() {
		g := lineage.New(nodes).Whole()
		if _, err := g.Descendants("session-000000"); err != nil {
			b.Fatal(err)
		}
		if _, err := g.Ancestors(core.SessionID("session-099999")); err != nil {
			b.Fatal(err)
		}
	}
}
