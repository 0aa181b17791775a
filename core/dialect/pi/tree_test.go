package pi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/display"
)

// node is a line of a tree at second n.
func node(id, parent string, second int) string {
	return fmt.Sprintf(`{"type":"x","id":"%s","parentId":%s,"timestamp":"2026-01-02T03:04:%02d.000Z"}`, id, quoted(parent), second)
}

// at is a node with that raw timestamp.
func at(id, parent, raw string) string {
	return fmt.Sprintf(`{"type":"x","id":"%s","parentId":%s,"timestamp":%s}`, id, quoted(parent), raw)
}

func quoted(parent string) string {
	if parent == "" {
		return "null"
	}
	return `"` + parent + `"`
}

// drawn is a tree on one line: each entry behind as many dots as it is deep.
func drawn(rows []display.TreeNode) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, " %s%s", strings.Repeat(".", r.Depth), r.ID)
		if r.Label != nil {
			fmt.Fprintf(&b, "(%s)", *r.Label)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// PI-15, PI-29
func TestTree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"Empty", nil, ""},
		{"Line", []string{node("a", "", 1), node("b", "a", 2), node("c", "b", 3)}, "a .b ..c"},
		{"ChildrenByTime", []string{node("a", "", 1), node("b", "a", 9), node("c", "a", 5), node("d", "b", 6)}, "a .c .b ..d"},
		{"SameTimeInFileOrder", []string{node("a", "", 1), node("b", "a", 5), node("c", "a", 5)}, "a .b .c"},
		{"RootsInFileOrder", []string{node("a", "", 9), node("b", "", 1), node("c", "a", 1)}, "a .c b"},
		{"ChildBeforeParent", []string{node("b", "a", 2), node("a", "", 1)}, "a .b"},
		{"Orphan", []string{node("a", "", 1), node("b", "gone", 2)}, "a b"},
		{"OwnParent", []string{node("a", "", 1), node("b", "b", 2), node("c", "b", 3)}, "a b .c"},
		{"ParentMissing", []string{node("a", "", 1), `{"id":"b"}`}, "a b"},
		{"ParentEmpty", []string{node("a", "", 1), `{"id":"b","parentId":""}`}, "a b"},
		{"WithoutID", []string{node("a", "", 1), `{"parentId":"a"}`, `{}`}, "a . "},
		{"LaterHeaderIsNoNode", []string{node("a", "", 1), header, node("b", "a", 2)}, "a .b"},
		{"Ring", []string{node("a", "", 1), node("b", "c", 2), node("c", "b", 3), node("d", "c", 4)}, "a b .c ..d"},
		{"SameIDTwice", []string{node("a", "", 1), node("b", "a", 2), node("b", "a", 3)}, "a .b .b"},
		{"SameIDTwiceWithChild", []string{node("a", "", 1), node("b", "a", 2), node("b", "a", 3), node("c", "b", 4)}, "a .b ..c .b ..c"},
		{"SameIDInARing", []string{node("a", "", 1), node("b", "a", 2), node("a", "b", 3)}, "a .b ..a"},
		{"Undated", []string{node("r", "", 1), node("a", "r", 9), at("b", "r", `"nope"`), node("c", "r", 5)}, "r .a .b .c"},
		{"UndatedAndFalling", []string{node("r", "", 1), node("a", "r", 9), node("b", "r", 5), at("c", "r", `{}`), node("d", "r", 1)}, "r .d .b .a .c"},
		{"TimesThatAreNoText", []string{node("r", "", 1), at("a", "r", `5`), at("b", "r", `null`), at("c", "r", `true`)}, "r .b .c .a"},
		{"Label", []string{node("a", "", 1), `{"type":"label","id":"l","parentId":"a","targetId":"a","label":"L"}`}, "a(L) .l"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := drawn(pi.Dialect{}.Tree(entries(t, c.lines...))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTreeStaysSmall(t *testing.T) {
	t.Parallel()
	// Each level is there twice: shown as pi does it, that is 2⁶⁰ rows.
	var lines []string
	parent := ""
	for i := range 60 {
		id := fmt.Sprint("n", i)
		lines = append(lines, node(id, parent, 1), node(id, parent, 2))
		parent = id
	}
	if rows := (pi.Dialect{}).Tree(entries(t, lines...)); len(rows) > 2*len(lines) {
		t.Errorf("%d rows for %d lines", len(rows), len(lines))
	}
}

// PI-12, PI-28
func TestLabels(t *testing.T) {
	t.Parallel()
	label := func(rest string) string {
		return `{"type":"label","id":"l","timestamp":"2026-01-02T03:04:05.000Z","targetId":` + rest + `}`
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"None", nil, "map[]"},
		{"Set", []string{label(`"a","label":"x"`)}, "map[a:x]"},
		{"LastCounts", []string{label(`"a","label":"x"`), label(`"a","label":"y"`)}, "map[a:y]"},
		{"EmptyClears", []string{label(`"a","label":"x"`), label(`"a","label":""`)}, "map[]"},
		{"NullClears", []string{label(`"a","label":"x"`), label(`"a","label":null`)}, "map[]"},
		{"AbsentClears", []string{label(`"a","label":"x"`), label(`"a"`)}, "map[]"},
		{"TargetNotThere", []string{label(`"gone","label":"x"`)}, "map[gone:x]"},
		{"TargetNoString", []string{label(`5,"label":"x"`), label(`null,"label":"x"`)}, "map[]"},
		{"NoString", []string{label(`"a","label":7`), label(`"b","label":0`)}, "map[a:7]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := pi.Dialect{}.Header([]byte(header))
			info, err := pi.Dialect{}.Info(h, entries(t, c.lines...), core.NoLeaf)
			if got := fmt.Sprint(info.Labels); got != c.want || err != nil {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	rows := pi.Dialect{}.Tree(entries(t, node("a", "", 1), label(`"a","label":"x"`)))
	if at := rows[0].LabelTimestamp; at == nil || *at != "2026-01-02T03:04:05.000Z" {
		t.Errorf("label timestamp %v", at)
	}
}
