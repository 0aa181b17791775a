package pi_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
)

// PI-15, PI-28
func TestPath(t *testing.T) {
	t.Parallel()
	branchy := []string{node("a", "", 1), node("b", "a", 2), node("c", "a", 3), node("d", "c", 4)}
	for _, c := range []struct {
		name  string
		lines []string
		leaf  core.Leaf
		want  string
	}{
		{"NoEntries", nil, core.Leaf{}, ""},
		{"NoLeaf", branchy, core.NoLeaf, ""},
		{"DefaultIsTheLast", branchy, core.Leaf{}, "a c d"},
		{"Named", branchy, core.LeafAt("b"), "a b"},
		{"Root", branchy, core.LeafAt("a"), "a"},
		{"MissingParent", []string{node("a", "", 1), node("b", "gone", 2)}, core.Leaf{}, "b"},
		{"AbsentParent", []string{node("a", "", 1), `{"id":"b"}`}, core.Leaf{}, "b"},
		{"LastHasNoID", []string{node("a", "", 1), `{"parentId":"a"}`}, core.Leaf{}, "a "},
		{"OwnParent", []string{node("a", "", 1), node("b", "b", 2)}, core.Leaf{}, "b"},
		{"Ring", []string{node("a", "b", 1), node("b", "a", 2), node("c", "b", 3)}, core.Leaf{}, "a b c"},
		{"SameIDTwice", []string{node("x", "", 1), node("a", "x", 2), node("a", "", 3), node("b", "a", 4)}, core.Leaf{}, "a b"},
		{"LaterHeaderIsNoEntry", []string{node("a", "", 1), header}, core.Leaf{}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, err := pi.Dialect{}.Path(entries(t, c.lines...), c.leaf)
			if err != nil || ids(path) != c.want {
				t.Errorf("%q, %v; want %q", ids(path), err, c.want)
			}
		})
	}
}

// PI-30: an entry that is not there is an error.
func TestUnknownLeaf(t *testing.T) {
	t.Parallel()
	d := pi.Dialect{}
	es := entries(t, hello, header)
	h, _ := d.Header([]byte(header))
	for _, id := range []string{"gone", "", h.ID} {
		_, pathErr := d.Path(es, core.LeafAt(id))
		_, contextErr := d.Context(es, core.LeafAt(id))
		_, infoErr := d.Info(h, es, core.LeafAt(id))
		for _, err := range []error{pathErr, contextErr, infoErr} {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("leaf %q: %v", id, err)
			}
		}
	}
}

// PI-16, PI-27
func TestLeaf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  core.Leaf
	}{
		{"NoEntries", nil, core.Leaf{}},
		{"Last", []string{hello, hi}, core.LeafAt("a1")},
		{"LastHasNoID", []string{hello, "{}"}, core.Leaf{}},
		{"LaterHeaderIsNoEntry", []string{hello, header}, core.LeafAt("u1")},
		{"OnlyHeaders", []string{header}, core.Leaf{}},
		{"UnknownType", []string{hello, `{"type":"leaf","id":"x","targetId":"u1"}`}, core.LeafAt("x")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := (pi.Dialect{}).Leaf(entries(t, c.lines...)); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
