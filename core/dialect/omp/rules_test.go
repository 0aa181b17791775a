package omp_test

import (
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
)

// OMP-30: omp makes a file for a session once a model has answered.
func TestKeepsWhatAModelAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{nil, false},
		{[]string{hello}, false},
		{[]string{slot("S", "", early), hello}, false},
		{[]string{then("custom", "c", `,"message":{"role":"assistant"}`)}, false},
		{[]string{hello, hi}, true},
	} {
		if got := (omp.Dialect{}).Keeps(entries(t, c.lines...)); got != c.want {
			t.Errorf("%q: %v", c.lines, got)
		}
	}
}

// OMP-20, OMP-23: the leaf of a session is its last entry, whatever its type and
// branch, unless another is given; a session without entries has none.
func TestLeaf(t *testing.T) {
	t.Parallel()
	d := omp.Dialect{}
	side := then("custom", "c", ``)
	for _, c := range []struct {
		name  string
		lines []string
		leaf  core.Leaf
		path  string
	}{
		{"NoEntries", nil, core.Leaf{}, ""},
		{"Last", []string{hello, hi}, core.LeafAt("a1"), "u1 a1"},
		{"AnotherBranch", []string{hello, hi, side}, core.LeafAt("c"), "c"},
		{"ASlotIsNone", []string{hello, slot("S", "", early)}, core.LeafAt("u1"), "u1"},
		{"NoID", []string{hello, `{"parentId":"u1"}`}, core.Leaf{}, "u1 "},
	} {
		es := entries(t, c.lines...)
		path, err := d.Path(es, core.Leaf{})
		if leaf := d.Leaf(es); leaf != c.leaf || err != nil || ids(path) != c.path {
			t.Errorf("%s: leaf %v, path %q, %v", c.name, leaf, ids(path), err)
		}
		if path, err := d.Path(es, core.NoLeaf); len(path) != 0 || err != nil {
			t.Errorf("%s: before all entries %q, %v", c.name, ids(path), err)
		}
	}
	if path, err := d.Path(entries(t, hello, hi, side), core.LeafAt("a1")); err != nil || ids(path) != "u1 a1" {
		t.Errorf("path %q, %v", ids(path), err)
	}
}

// A line of nothing but brackets costs no more than its length.
func TestAsWrittenOfADeepLine(t *testing.T) {
	t.Parallel()
	const depth = 9_000
	deep := `{"jsonlEvents":1,"a":` + nested(depth, `{"jsonlEvents":1,"b":2}`) + `}`
	if got, want := written(deep), `{"a":`+nested(depth, `{"b":2}`)+`}`; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	tooDeep := `{"jsonlEvents":1,"a":` + nested(20_000, "1") + `}`
	if written(tooDeep) != tooDeep {
		t.Error("what no agent can read was changed")
	}
}

// nested is v inside of as many lists.
func nested(depth int, v string) string {
	return strings.Repeat("[", depth) + v + strings.Repeat("]", depth)
}
