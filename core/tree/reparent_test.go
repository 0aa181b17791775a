package tree_test

import (
	"bytes"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/tree"
)

func TestReparentChangesOnlyTheParent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    core.Dialect
		line string
		to   core.Leaf
		want string
	}{
		{pi.Dialect{}, `{"id":"b","parentId":"a"}`, core.LeafAt("c"), `{"id":"b","parentId":"c"}`},
		{pi.Dialect{}, ` { "parentId" : null , "n" : 1.0 } ` + "\r", core.LeafAt(`c"`), ` { "parentId" : "c\"" , "n" : 1.0 } ` + "\r"},
		{pi.Dialect{}, `{"parentId":"a","x":{"parentId":"a"},"s":"\"parentId\":\"a\""}`, core.NoLeaf, `{"parentId":null,"x":{"parentId":"a"},"s":"\"parentId\":\"a\""}`},
		{pi.Dialect{}, `{"parentId":"a","parentId":"b"}`, core.LeafAt("c"), `{"parentId":"a","parentId":"c"}`}, // the last one counts
		{pi.Dialect{}, `{"p\u0061rentId":"a"}`, core.LeafAt("c"), `{"p\u0061rentId":"c"}`},
		{pi.Dialect{}, `{"id":"b"}`, core.LeafAt("c"), `{"id":"b"}`},
		{pi.Dialect{}, `{"id":"b","parent_id":"a"}`, core.NoLeaf, `{"id":"b","parent_id":"a"}`}, // an extension's
		{pi.Dialect{}, `{"id":`, core.LeafAt("c"), `{"id":`},
		{pi.Dialect{}, ``, core.LeafAt("c"), ``},
		{operator.Dialect{}, `{"type":"message","id":"b","parent_id":"a","parentId":"z"}`, core.LeafAt("c"), `{"type":"message","id":"b","parent_id":"c","parentId":"z"}`},
	} {
		line := []byte(c.line)
		if got := tree.Reparent(c.d, line, c.to); string(got) != c.want {
			t.Errorf("%s becomes %s, want %s", c.line, got, c.want)
		}
		if string(line) != c.line {
			t.Errorf("the line itself changed to %s", line)
		}
	}
}

// FuzzReparent: what was an entry stays one, with the parent it was given, and
// the way back gives the same entry.
func FuzzReparent(f *testing.F) {
	f.Add([]byte(`{"id":"b","parentId":"a","x":[1,{"parentId":2}]}`))
	f.Add([]byte(`{"parentId":null}`))
	d := pi.Dialect{}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := tree.Reparent(d, line, core.LeafAt("new"))
		if bytes.Equal(got, line) {
			return
		}
		before, err := d.Entry(line)
		if err != nil {
			t.Fatalf("%q is no entry and became %q", line, got)
		}
		after, err := d.Entry(got)
		if err != nil || after.Parent != "new" || after.ID != before.ID || after.Type != before.Type {
			t.Fatalf("%q became %q: %v", line, got, err)
		}
		if before.Parent == "" {
			return
		}
		back, err := d.Entry(tree.Reparent(d, got, core.LeafAt(before.Parent)))
		if err != nil || back.Parent != before.Parent {
			t.Fatalf("%q, and back %q: %v", got, back.Line, err)
		}
	})
}
