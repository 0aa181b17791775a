package item_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core/item"
)

func TestEditsOfToolCalls(t *testing.T) {
	t.Parallel()
	replace := item.EditTool{Path: "path", Old: "oldText", New: "newText", List: "edits"}
	write := item.EditTool{Path: "path", Content: "content"}
	patch := item.EditTool{Patch: "input"}
	for _, c := range []struct {
		tool item.EditTool
		args string
		want []item.Edit
	}{
		{replace, `{"path":"a","oldText":"x","newText":"y"}`, []item.Edit{{Path: "a", Old: "x", New: "y"}}},
		{replace, `{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"p","newText":""}]}`, []item.Edit{{Path: "a", Old: "x", New: "y"}, {Path: "a", Old: "p"}}},
		{replace, `{"path":"a","oldText":"x"}`, nil},
		{replace, `{"path":7,"oldText":["x"],"newText":{}}`, nil},
		{replace, `"text"`, nil},
		{replace, ``, nil},
		{write, `{"path":"a","content":"all"}`, []item.Edit{{Path: "a", New: "all", Whole: true}}},
		{write, `{"path":"a"}`, nil},
		{patch, `{"input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+z\n*** Delete File: c\n*** End Patch"}`, []item.Edit{
			{Path: "a", Patch: "@@\n-x\n+y"}, {Path: "b", Patch: "+z"}, {Path: "c"},
		}},
		{patch, `{"input":"no patch"}`, nil},
	} {
		if diff := cmp.Diff(c.want, c.tool.Edits(json.RawMessage(c.args))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}
