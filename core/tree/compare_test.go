package tree_test

import (
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/tree"
)

func TestCommon(t *testing.T) {
	t.Parallel()
	entries := func(ids ...string) (es []core.Entry) {
		for _, id := range ids {
			es = append(es, core.Entry{ID: id, Line: []byte("line of " + id)})
		}
		return es
	}
	noID := []core.Entry{{Line: []byte("x")}, {Line: []byte("y")}}
	for _, c := range []struct {
		a, b []core.Entry
		want int
	}{
		{nil, nil, 0},
		{entries("a"), nil, 0},
		{entries("a", "b", "c"), entries("a", "b", "d", "c"), 2},
		{entries("a", "b"), entries("a", "b", "c"), 2},
		{entries("x", "b"), entries("y", "b"), 0},
		{noID, noID[:1], 1},
		{noID, []core.Entry{{Line: []byte("x")}, {Line: []byte("z")}}, 1},
	} {
		if got, back := tree.Common(c.a, c.b), tree.Common(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("Common(%v, %v) = %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
