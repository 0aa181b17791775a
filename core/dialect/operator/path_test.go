package operator_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

const (
	ultra = `,"thinking_level":"ultra"`
	high  = `,"thinking_level":"high"`
)

// leafTo is a leaf entry.
func leafTo(id, parent, target string) string {
	return then("leaf", id, parent, `,"target_id":`+target)
}

// branchy is a tree: a with b and c, d behind c.
var branchy = []string{says("a", "", helloM), says("b", "a", hiM), says("c", "a", hiM), says("d", "c", helloM)}

// TestLeaf: OP-08, OP-20, OP-22.
func TestLeaf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  core.Leaf
	}{
		{"NoEntries", nil, core.Leaf{}},
		{"Last", []string{hello, hi}, core.LeafAt("a1")},
		{"LabelsAreEntries", []string{hello, then("label", "l", "u1", `,"target_id":"u1"`)}, core.LeafAt("l")},
		{"Pointer", []string{hello, hi, leafTo("l", "a1", `"u1"`)}, core.LeafAt("u1")},
		{"PointerThenEntry", []string{hello, hi, leafTo("l", "a1", `"u1"`), says("x", "u1", helloM)}, core.LeafAt("x")},
		{"PointerAtPointer", []string{hello, leafTo("l", "u1", `"u1"`), leafTo("m", "u1", `"l"`)}, core.LeafAt("l")},
		{"PointerAtNothing", []string{hello, leafTo("l", "u1", "null")}, core.NoLeaf},
		{"PointerWithoutTarget", []string{hello, then("leaf", "l", "u1", "")}, core.NoLeaf},
		{"PointerAtEmpty", []string{hello, leafTo("l", "u1", `""`)}, core.NoLeaf},
		{"PointerOutOfReach", []string{leafTo("l", "u1", `"u1"`)}, core.LeafAt("u1")},
		{"LastHasNoID", []string{hello, `{"type":"session_info"}`}, core.Leaf{}},
		{"LaterHeaderIsNoEntry", []string{hello, header}, core.LeafAt("u1")},
		{"OnlyHeaders", []string{header}, core.Leaf{}},
		{"RefusedIsNoLeaf", []string{hello, then("thinking_level_change", "t", "u1", ultra)}, core.LeafAt("u1")},
		{"UnknownIsNoLeaf", []string{hello, then("wormhole", "w", "u1", "")}, core.LeafAt("u1")},
		{"RefusedPointerIsNoLeaf", []string{hello, hi, leafTo("l", "a1", `5`)}, core.LeafAt("a1")},
		{"NothingButUnknown", []string{then("wormhole", "v", "", ""), then("wormhole", "w", "v", ""), `{}`}, core.LeafAt("w")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := (operator.Dialect{}).Leaf(entries(t, c.lines...)); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestPath: OP-04, OP-22, OP-24, OP-25.
func TestPath(t *testing.T) {
	t.Parallel()
	with := func(lines ...string) []string { return append(branchy[:4:4], lines...) }
	for _, c := range []struct {
		name  string
		lines []string
		leaf  core.Leaf
		want  string
	}{
		{"NoEntries", nil, core.Leaf{}, ""},
		{"NoLeaf", branchy, core.NoLeaf, ""},
		{"DefaultIsTheLast", branchy, core.Leaf{}, "a c d"},
		{"DefaultIsPointedAt", with(leafTo("l", "d", `"b"`)), core.Leaf{}, "a b"},
		{"DefaultAtNothing", with(leafTo("l", "d", "null")), core.Leaf{}, ""},
		{"DefaultPointsAtWhatIsNotThere", with(leafTo("l", "d", `"gone"`)), core.Leaf{}, ""},
		{"ThroughAPointer", with(leafTo("l", "d", `"b"`), says("e", "l", hiM)), core.Leaf{}, "a c d l e"},
		{"Named", branchy, core.LeafAt("b"), "a b"},
		{"Root", branchy, core.LeafAt("a"), "a"},
		{"ParentNull", []string{hello, `{"id":"x","type":"leaf","parent_id":null}`}, core.LeafAt("x"), "x"},
		{"ParentAbsent", []string{hello, `{"id":"x","type":"leaf"}`}, core.LeafAt("x"), "x"},
		{"ParentMissing", []string{hello, says("x", "gone", hiM)}, core.Leaf{}, "x"},
		{"ParentRefused", []string{hello, then("thinking_level_change", "t", "u1", ultra), says("x", "t", hiM)}, core.Leaf{}, "u1 t x"},
		{"OwnParent", []string{hello, says("x", "x", hiM)}, core.Leaf{}, "x"},
		{"Ring", []string{says("a", "b", helloM), says("b", "a", hiM), says("c", "b", hiM)}, core.Leaf{}, "a b c"},
		{"LastHasNoID", []string{hello, `{"type":"session_info","parent_id":"u1"}`}, core.Leaf{}, "u1 "},
		{"SameIDTwice", []string{hello, says("x", "u1", hiM), says("x", "", hiM), says("y", "x", helloM)}, core.Leaf{}, "x y"},
		{"SameIDRefused", []string{hello, says("x", "u1", hiM), then("wormhole", "x", "", ""), says("y", "x", helloM)}, core.Leaf{}, "u1 x y"},
		{"LaterHeaderIsNoEntry", []string{hello, header}, core.Leaf{}, "u1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, err := operator.Dialect{}.Path(entries(t, c.lines...), c.leaf)
			if err != nil || ids(path) != c.want {
				t.Errorf("%q, %v; want %q", ids(path), err, c.want)
			}
		})
	}
}

// TestUnknownLeaf: OP-22.
func TestUnknownLeaf(t *testing.T) {
	t.Parallel()
	d := operator.Dialect{}
	es := entries(t, hello, header)
	for _, id := range []string{"gone", "", sessionID} {
		_, pathErr := d.Path(es, core.LeafAt(id))
		_, contextErr := d.Context(es, core.LeafAt(id))
		_, infoErr := d.Info(theHeader(t), es, core.LeafAt(id))
		_, channelErr := operator.Channel(es, core.LeafAt(id))
		for _, err := range []error{pathErr, contextErr, infoErr, channelErr} {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("leaf %q: %v", id, err)
			}
		}
	}
}
