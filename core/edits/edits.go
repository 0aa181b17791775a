// Package edits finds what the calls in a session change in files.
package edits

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/optional"
)

// A FileEdit is an edit of a file that a call of a tool asked for.
type FileEdit struct {
	Entry string `json:"entry,omitempty"` // that has the call
	Time  string `json:"time,omitempty"`
	Tool  string `json:"tool"`
	item.Edit
	Failed bool `json:"failed,omitempty"` // the tool failed
	Open   bool `json:"open,omitempty"`   // the call has no result
}

// Size returns about how many bytes the edit takes.
func (e *FileEdit) Size() int64 {
	const members = 200
	return int64(members + len(e.Entry) + len(e.Time) + len(e.Tool) + len(e.Path) + len(e.Old) + len(e.New) + len(e.Patch))
}

// Of returns the changes that the entries of a path ask for, in order. The tools are
// those of the agent; what commands of a shell change is not known.
func Of(d core.Dialect, path []core.Entry) (all []FileEdit) {
	tools := optional.EditTools(d)
	of := map[string][]int{} // of the calls without a result
	for _, e := range path {
		for _, it := range d.Read(e) {
			for _, b := range it.Blocks {
				switch tool, ok := tools[b.Name]; {
				case b.Kind == item.BlockResult:
					for _, i := range of[b.ID] {
						all[i].Open, all[i].Failed = false, b.Failed
					}
					delete(of, b.ID)
				case b.Kind == item.BlockCall && ok:
					for _, edit := range tool.Edits(b.Args) {
						of[b.ID] = append(of[b.ID], len(all))
						all = append(all, FileEdit{Entry: e.ID, Time: e.Time, Tool: b.Name, Edit: edit, Open: true})
					}
				}
			}
		}
	}
	return all
}
