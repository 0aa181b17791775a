package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/display"
)

// at is a node with that raw timestamp.
func at(id, parent, raw string) string {
	return strings.Replace(then("session_info", id, parent, ""), "1003.25", raw, 1)
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

// TestTree: OP-26.
func TestTree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"Empty", nil, ""},
		{"Line", []string{at("a", "", "1"), at("b", "a", "2"), at("c", "b", "3")}, "a .b ..c"},
		{"ChildrenByTime", []string{at("a", "", "1"), at("b", "a", "9.5"), at("c", "a", "5.25"), at("d", "b", "6")}, "a .c .b ..d"},
		{"TimesAreNumbers", []string{at("a", "", "1"), at("b", "a", "10"), at("c", "a", "9"), at("d", "a", "1e1"), at("e", "a", `"9.5"`)}, "a .c .e .b .d"},
		{"SameTimeInFileOrder", []string{at("a", "", "1"), at("b", "a", "5"), at("c", "a", "5.0")}, "a .b .c"},
		{"NoTimeIsLast", []string{at("a", "", "1"), at("b", "a", "null"), at("c", "a", "1e400"), at("d", "a", "5")}, "a .d .b .c"},
		{"RootsByTime", []string{at("a", "", "9"), at("b", "", "1"), at("c", "a", "1")}, "b a .c"},
		{"ChildBeforeParent", []string{at("b", "a", "2"), at("a", "", "1")}, "a .b"},
		{"Orphan", []string{at("a", "", "3"), at("b", "gone", "2")}, "b a"},
		{"OwnParent", []string{at("a", "", "1"), at("b", "b", "2"), at("c", "b", "3")}, "a b .c"},
		{"LeafAndLabelAreNodes", []string{hello, leafTo("l", "u1", `"u1"`), then("label", "m", "l", `,"label":"x","target_id":"u1"`)}, "u1(x) .l ..m"},
		{"RefusedAndUnknownAreNodes", []string{hello, then("thinking_level_change", "t", "u1", ultra), then("wormhole", "w", "t", "")}, "u1 .t ..w"},
		{"WithoutID", []string{at("a", "", "1"), `{"type":"leaf","parent_id":"a"}`, `{}`}, "a . "},
		{"LaterHeaderIsNoNode", []string{hello, header, hi}, "u1 .a1"},
		{"Ring", []string{at("x", "", "9"), at("b", "c", "3"), at("c", "b", "2"), at("d", "c", "4"), at("e", "b", "1")}, "c .b ..e .d x"},
		{"RingOfThreeSameTime", []string{at("a", "c", "1"), at("b", "a", "1"), at("c", "b", "1")}, "a .b ..c"},
		{"SameIDTwice", []string{at("a", "", "1"), at("b", "a", "2"), at("b", "a", "3"), at("c", "b", "4")}, "a .b .b ..c"},
		{"SameIDInARing", []string{at("a", "", "1"), at("b", "a", "2"), at("a", "b", "3")}, "a b .a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := drawn(operator.Dialect{}.Tree(entries(t, c.lines...))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestLabels: OP-09, OP-20, OP-27.
func TestLabels(t *testing.T) {
	t.Parallel()
	label := func(rest string) string { return then("label", "l", "", `,`+rest) }
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"None", nil, "map[]"},
		{"Set", []string{label(`"label":"x","target_id":"a"`)}, "map[a:x]"},
		{"LastCounts", []string{label(`"label":"x","target_id":"a"`), label(`"label":"y","target_id":"a"`)}, "map[a:y]"},
		{"EmptyClears", []string{label(`"label":"x","target_id":"a"`), label(`"label":"","target_id":"a"`)}, "map[]"},
		{"NullClears", []string{label(`"label":"x","target_id":"a"`), label(`"label":null,"target_id":"a"`)}, "map[]"},
		{"AbsentClears", []string{label(`"label":"x","target_id":"a"`), label(`"target_id":"a"`)}, "map[]"},
		{"TargetNotThere", []string{label(`"label":"x","target_id":"gone"`)}, "map[gone:x]"},
		{"Refused", []string{label(`"label":"x","target_id":5`), label(`"label":7,"target_id":"a"`)}, "map[]"},
		{"OnAnyBranch", []string{hello, hi, then("label", "l", "u1", `,"label":"x","target_id":"a1"`), leafTo("m", "l", `"a1"`)}, "map[a1:x]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info, err := operator.Dialect{}.Info(theHeader(t), entries(t, c.lines...), core.NoLeaf)
			if got := fmt.Sprint(info.Labels); got != c.want || err != nil {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	rows := operator.Dialect{}.Tree(entries(t, hello, label(`"label":"x","target_id":"u1"`)))
	if at := rows[0].LabelTimestamp; at == nil || *at != "1003.25" {
		t.Errorf("label timestamp %v", at)
	}
}

// TestChildren: OP-27.
func TestChildren(t *testing.T) {
	t.Parallel()
	es := entries(t, at("a", "", "1"), at("b", "a", "9"), at("c", "a", "5"), leafTo("l", "a", "null"), at("d", "gone", "2"), header)
	for id, want := range map[string]string{"a": "c b l", "gone": "d", "b": "", "": ""} {
		if got := ids(operator.Children(es, id)); got != want {
			t.Errorf("children of %q: %q, want %q", id, got, want)
		}
	}
}
