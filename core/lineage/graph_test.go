package lineage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
)

// node is a session that is a fork of parents.
func node(id string, parents ...string) lineage.Node {
	n := lineage.Node{ID: core.SessionID(id)}
	for _, p := range parents {
		n.Parents = append(n.Parents, lineage.Parent{Session: core.SessionID(p), Kind: lineage.Fork})
	}
	return n
}

func ids(words ...string) []core.SessionID {
	var out []core.SessionID
	for _, w := range words {
		out = append(out, core.SessionID(w))
	}
	return out
}

// family is
//
//	a ─┬─ b ─┬─ d ─┐
//	   └─ c ─┼─────┴─ f
//	         └─ e
//
// with e a merge of b and c, and f one of d and c.
func family() *lineage.Graph {
	return lineage.New([]lineage.Node{node("a"), node("b", "a"), node("c", "a"), node("d", "b"), node("e", "b", "c"), node("f", "d", "c")})
}

// RATH-54, FLEET-20
func TestAncestorsNearestFirst(t *testing.T) {
	t.Parallel()
	for id, want := range map[core.SessionID][]core.SessionID{
		"a": nil, "d": ids("b", "a"), "e": ids("b", "c", "a"), "f": ids("d", "c", "b", "a"),
	} {
		got, err := family().Ancestors(id)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ancestors of %s: %v, %v; want %v", id, got, err, want)
		}
	}
}

// RATH-54
func TestDescendantsParentsFirst(t *testing.T) {
	t.Parallel()
	for id, want := range map[core.SessionID][]core.SessionID{
		"a": ids("b", "d", "f", "e", "c"), "c": ids("e", "f"), "f": nil,
	} {
		got, err := family().Descendants(id)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("descendants of %s: %v, %v; want %v", id, got, err, want)
		}
	}
}

// RATH-54
func TestEdgesInSessionOrder(t *testing.T) {
	t.Parallel()
	g := lineage.New([]lineage.Node{node("x", "b", "a"), node("a"), node("b", "a"), node("self-merge", "a", "a")})
	want := []lineage.Edge{
		{Producer: "b", Consumer: "x", Kind: lineage.Fork},
		{Producer: "a", Consumer: "x", Kind: lineage.Fork},
		{Producer: "a", Consumer: "b", Kind: lineage.Fork},
		{Producer: "a", Consumer: "self-merge", Kind: lineage.Fork},
		{Producer: "a", Consumer: "self-merge", Kind: lineage.Fork},
	}
	if d := cmp.Diff(want, g.Edges()); d != "" {
		t.Error(d)
	}
	if err := g.Validate(); err != nil {
		t.Errorf("a session merged with itself is no cycle: %v", err)
	}
}

// RATH-54
func TestErrorNamesMissingSession(t *testing.T) {
	t.Parallel()
	g := lineage.New([]lineage.Node{node("a", "gone"), node("b", "a")})
	for what, call := range map[string]func() error{
		"ancestors": func() error { _, err := g.Ancestors("b"); return err },
		"validate":  func() error { return g.Validate() },
		"and where it is shown as missing": func() error {
			return g.Whole().Validate()
		},
	} {
		e, ok := errors.AsType[*lineage.Error](call())
		if !ok || e.Session != "a" || e.Missing != "gone" || !errors.Is(e, core.ErrNotFound) {
			t.Errorf("%s: %v", what, e)
		}
	}
	for what, call := range map[string]func(core.SessionID) ([]core.SessionID, error){
		"ancestors": g.Ancestors, "descendants": g.Descendants,
	} {
		_, err := call("nobody")
		if e, ok := errors.AsType[*lineage.Error](err); !ok || e.Missing != "nobody" || e.Session != "" {
			t.Errorf("%s of a session that is not there: %v", what, err)
		}
	}
	got, err := g.Whole().Ancestors("b")
	if n, _ := g.Whole().Node("gone"); err != nil || !slices.Equal(got, ids("a", "gone")) || n.State != lineage.Missing {
		t.Errorf("the whole graph: %v, %v, %+v", got, err, n)
	}
}

// RATH-54
func TestValidateReportsCycles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes []lineage.Node
		want  []core.SessionID
	}{
		"itself":        {[]lineage.Node{node("a"), node("b", "b")}, ids("b")},
		"each other":    {[]lineage.Node{node("a", "b"), node("b", "a")}, ids("b", "a")},
		"round a tail":  {[]lineage.Node{node("t", "a"), node("a", "c"), node("b", "a"), node("c", "b")}, ids("b", "c", "a")},
		"by one parent": {[]lineage.Node{node("r"), node("a", "r", "b"), node("b", "r", "a")}, ids("b", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := lineage.New(c.nodes)
			e, ok := errors.AsType[*lineage.Error](g.Validate())
			if !ok || !slices.Equal(e.Cycle, c.want) || !errors.Is(e, core.ErrInvalid) || e.Error() == "" {
				t.Errorf("validate says %v, want the cycle %v", e, c.want)
			}
			for _, n := range g.Nodes() { // and no question runs for ever
				_, up := g.Ancestors(n.ID)
				_, down := g.Descendants(n.ID)
				if up != nil || down != nil {
					t.Errorf("%s: %v, %v", n.ID, up, down)
				}
			}
		})
	}
}

func TestValidateAcceptsSubgraph(t *testing.T) {
	t.Parallel()
	g := lineage.New(append(family().Nodes(), node("lost", "gone"))).Whole()
	part := g.Only(ids("d", "f"))
	if err := part.Validate(); err != nil || len(part.Nodes()) != 2 || len(part.Edges()) != 3 {
		t.Errorf("a part without its parents: %v, %+v", err, part.Nodes())
	}
	if err := g.Only(ids("lost")).Validate(); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a parent that is nowhere: %v", err)
	}
}

// RATH-54: the answers hold for graphs of any shape, and for a hundred thousand
// sessions they come at once.
func TestLargeGraphs(t *testing.T) {
	t.Parallel()
	const n = 100_000
	name := func(i int) string { return fmt.Sprintf("session-%06d", i) }
	chain, star, circle := make([]lineage.Node, n), make([]lineage.Node, n), make([]lineage.Node, n)
	for i := range n {
		chain[i], star[i], circle[i] = node(name(i)), node(name(i)), node(name(i), name((i+1)%n))
		if i > 0 {
			chain[i], star[i] = node(name(i), name(i-1)), node(name(i), name(0))
		}
	}
	for shape, nodes := range map[string][]lineage.Node{"chain": chain, "star": star} {
		g := lineage.New(nodes)
		down, err := g.Descendants(core.SessionID(name(0)))
		if err != nil || len(down) != n-1 || g.Validate() != nil {
			t.Errorf("%s: %d descendants, %v", shape, len(down), err)
		}
	}
	if up, err := lineage.New(chain).Ancestors(core.SessionID(name(n - 1))); err != nil || len(up) != n-1 {
		t.Errorf("%d ancestors, %v", len(up), err)
	}
	e, ok := errors.AsType[*lineage.Error](lineage.New(circle).Validate())
	if !ok || len(e.Cycle) != n || len(e.Error()) > 1000 {
		t.Errorf("a circle of all: %d, %.200s", len(e.Cycle), e.Error())
	}
}

// Going up from x meets y exactly where going down from y meets x, and a graph
// whose parents all come before their children is sound.
func TestAncestorsAndDescendantsAgree(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var nodes []lineage.Node
		for i := range 12 {
			n := node(fmt.Sprint("n", i))
			for range rnd.IntN(3) {
				if to := rnd.IntN(12); to < i || rnd.IntN(20) == 0 {
					n.Parents = append(n.Parents, lineage.Parent{Session: core.SessionID(fmt.Sprint("n", to))})
				}
			}
			nodes = append(nodes, n)
		}
		g := lineage.New(nodes)
		circles := false
		for _, x := range nodes {
			up, _ := g.Ancestors(x.ID)
			circles = circles || slices.Contains(up, x.ID)
			for _, y := range nodes {
				down, _ := g.Descendants(y.ID)
				if slices.Contains(up, y.ID) != slices.Contains(down, x.ID) {
					t.Fatalf("%s and %s in %+v", x.ID, y.ID, nodes)
				}
			}
		}
		if err := g.Validate(); circles != (err != nil) {
			t.Fatalf("validate says %v of %+v", err, nodes)
		}
	}
}
