package lineage_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core/lineage"
)

// RATH-50, RATH-51
func TestRowMatchesOpenRathExport(t *testing.T) {
	t.Parallel()
	merged := lineage.Node{
		ID: "415111bb-5bc1-4471-9e97-21e127734e2a", Entries: 2,
		Stamp: lineage.Stamp{Kind: lineage.Merge, Parents: []lineage.Parent{
			{Session: "afb3d388-dbb7-490e-81d0-5f7b811a018f", Kind: lineage.Merge},
			{Session: "16acf4b8-c30b-4fd9-ae4f-d09a475444e7", Kind: lineage.Merge},
		}},
	}
	counted := lineage.Node{
		ID: "compressed-1", Entries: 1, Usage: &lineage.Usage{Prompt: 14, Completion: 7, Total: 21},
		Stamp: lineage.Stamp{
			Kind: lineage.Compress, Word: lineage.Word{Operator: "run_session_compress", Kind: "op_session_compress"},
			Extras: []lineage.Extra{lineage.NewExtra("compression.lossy", true), lineage.NewExtra("é", map[string]any{"a": []int{1, 2}})},
		},
	}
	want := `{"id": "415111bb-5bc1-4471-9e97-21e127734e2a", "parent_session_ids": ["afb3d388-dbb7-490e-81d0-5f7b811a018f", "16acf4b8-c30b-4fd9-ae4f-d09a475444e7"], "lineage_operator": "Session.merge", "lineage_kind": "op_merge", "lineage_extras": [], "chunk_count": 2, "cumulative_usage": null}
{"id": "compressed-1", "parent_session_ids": [], "lineage_operator": "run_session_compress", "lineage_kind": "op_session_compress", "lineage_extras": [["compression.lossy", true], ["é", {"a": [1, 2]}]], "chunk_count": 1, "cumulative_usage": {"prompt_tokens": 14, "completion_tokens": 7, "total_tokens": 21}}
`
	if d := cmp.Diff(want, string(lineage.ExportJSONL([]lineage.Node{merged, counted}))); d != "" {
		t.Error(d)
	}
}

// RATH-51
func TestExportOfNothing(t *testing.T) {
	t.Parallel()
	if got := lineage.ExportJSONL(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// RATH-56
func TestExportsNonJSONAsText(t *testing.T) {
	t.Parallel()
	n := lineage.Node{ID: "a-session"}
	n.Extras = []lineage.Extra{
		lineage.NewExtra("a function", complex(1, 2)), lineage.NewExtra("nan", math.NaN()),
		{Key: "broken", Value: json.RawMessage(`{"a":`)},
		{Key: "absent"},
		lineage.NewExtra("markup", "<b>&\u2028"),
		{Key: "as it was", Value: json.RawMessage(`[1.50,{"b":1e400}]`)},
	}
	want := `{"id": "a-session", "parent_session_ids": [], "lineage_operator": "implicit", "lineage_kind": "unknown", "lineage_extras": [` +
		`["a function", "(1+2i)"], ["nan", "NaN"], ["broken", "{\"a\":"], ["absent", null], ["markup", "<b>&` + "\u2028" + `"], ["as it was", [1.50, {"b": 1e400}]]` +
		`], "chunk_count": 0, "cumulative_usage": null}`
	if d := cmp.Diff(want, string(n.Row().Append(nil))); d != "" {
		t.Error(d)
	}
}

func TestExtrasArePairs(t *testing.T) {
	t.Parallel()
	in := []lineage.Extra{lineage.NewExtra("k", 1), lineage.NewExtra("", nil)}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `[["k",1],["",null]]` {
		t.Errorf("%s, %v", b, err)
	}
	var out []lineage.Extra
	if err := json.Unmarshal(b, &out); err != nil || !cmp.Equal(in, out) {
		t.Errorf("%+v, %v", out, err)
	}
	for _, bad := range []string{`["k"]`, `["k",1,2]`, `[1,2]`, `{"k":1}`, `[null,1]`, `7`} {
		var e lineage.Extra
		if err := json.Unmarshal([]byte(bad), &e); err == nil {
			t.Errorf("%s is read as %+v", bad, e)
		}
	}
}
