package edits_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/edits"
	"github.com/sesslog/sesslog/core/item"
)

// Each agent's own tools are known, as its sessions name them.
func TestChangesOfEachAgent(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string][][2]string{
		"pi":       {{"edit", `{"path":"a","oldText":"x","newText":"y"}`}, {"write", `{"path":"b","content":"all"}`}},
		"omp":      {{"edit", `{"path":"a","oldText":"x","newText":"y"}`}, {"write", `{"path":"b","content":"all"}`}},
		"claude":   {{"Edit", `{"file_path":"a","old_string":"x","new_string":"y"}`}, {"Write", `{"file_path":"b","content":"all"}`}},
		"opencode": {{"edit", `{"filePath":"a","oldString":"x","newString":"y"}`}, {"write", `{"filePath":"b","content":"all"}`}},
	} {
		d, err := dialect.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		var path []core.Entry
		for i, c := range append(calls, [2]string{"bash", `{"command":"rm c"}`}) {
			call := item.Block{Kind: item.BlockCall, ID: fmt.Sprint("c", i), Name: c[0], Args: []byte(c[1])}
			line, _ := d.Write(item.Item{Kind: item.Message, Role: item.RoleAssistant, Provider: "p", Model: "m", Stop: item.StopTools, Blocks: []item.Block{call}})
			e, err := d.Fill(line, core.Fields{ID: d.EntryID([16]byte{byte(i)}), Time: "2026-01-02T03:04:05.000Z", Parent: core.NoLeaf, Position: i + 1})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			path = append(path, e)
		}
		got := edits.Of(d, path)
		for i := range got {
			if !got[i].Open && !got[i].Failed || got[i].Tool != calls[i][0] || got[i].Entry != path[i].ID {
				t.Errorf("%s: change %d is %+v", name, i, got[i])
			}
			got[i] = edits.FileEdit{Edit: got[i].Edit}
		}
		want := []edits.FileEdit{{Edit: item.Edit{Path: "a", Old: "x", New: "y"}}, {Edit: item.Edit{Path: "b", New: "all", Whole: true}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
