package optional

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// Examine reads the files of a session of d. If d is not an Examiner, its main
// file is read as core.Decoder does, and entries count as messages.
func Examine(d core.Dialect, main string, files map[string][]byte, join bool) (Examination, error) {
	if x, ok := d.(Examiner); ok {
		return x.Examine(main, files, join)
	}
	f, err := d.File(files[main])
	if err != nil {
		return Examination{}, err
	}
	x := Examination{File: main}
	x.examineSkipped(f, files[main])
	path, err := d.Path(f.Entries, d.Leaf(f.Entries))
	if err != nil {
		return Examination{}, err
	}
	x.Sent = len(path)
	for _, e := range f.Entries {
		if !e.Aside {
			x.Messages++
		}
	}
	x.examineLinks(f)
	if len(x.Faults) == 0 {
		x.Branches = x.Messages - x.Sent
	}
	return x, nil
}

// examineSkipped names the lines that are not entries. The copy has the objects of
// glued lines on lines of their own.
func (x *Examination) examineSkipped(f *core.File, data []byte) {
	if len(f.Skipped) == 0 {
		return
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, bad := range f.Skipped {
		fault := Fault{Kind: BadLine, Line: bad.Line, Text: bad.Error}
		if i := bad.Line - 1; i >= 0 && i < len(lines) {
			if parts := glued(lines[i]); parts != nil {
				fault = Fault{Kind: GluedLines, Line: bad.Line, Text: fmt.Sprintf("it holds %d lines", len(parts)), Repair: ByCopy}
				lines[i] = append(bytes.Join(parts, []byte("\n")), '\n')
				x.Copy = []byte{} // made below
			}
		}
		x.Faults = append(x.Faults, fault)
	}
	if x.Copy != nil {
		x.Copy = bytes.Join(lines, nil)
	}
}

// glued returns the JSON objects of a line if it consists of several.
func glued(line []byte) (parts [][]byte) {
	r := json.NewDecoder(bytes.NewReader(line))
	for r.More() {
		var part json.RawMessage
		if r.Decode(&part) != nil || part[0] != '{' {
			return nil
		}
		parts = append(parts, part)
	}
	if len(parts) < 2 || len(bytes.TrimSpace(line[r.InputOffset():])) > 0 {
		return nil
	}
	return parts
}

// examineLinks names the entries whose id is another entry's, and those from which
// the parents do not lead to a root.
func (x *Examination) examineLinks(f *core.File) {
	at := map[string]int{}
	line := func(i int) int {
		if i < len(f.Lines) {
			return f.Lines[i]
		}
		return 0
	}
	for i, e := range f.Entries {
		if old, ok := at[e.ID]; ok && e.ID != "" && !bytes.Equal(e.Line, f.Entries[old].Line) {
			x.Faults = append(x.Faults, Fault{Kind: CollidingIDs, Line: line(i), Text: fmt.Sprintf("its id %.64q is also that of line %d", e.ID, line(old))})
		}
		at[e.ID] = i
	}
	for i, e := range f.Entries {
		if _, ok := at[e.Parent]; e.Parent != "" && !ok && !e.Aside {
			x.Faults = append(x.Faults, Fault{Kind: MissingParent, Line: line(i), Text: fmt.Sprintf("its parent %.64q is not in the file", e.Parent)})
		}
	}
	walk := make([]int, len(f.Entries)) // the walk that came to an entry first, from 1
	for i := range f.Entries {
		for j, ok := i, true; ok; j, ok = at[f.Entries[j].Parent] {
			if f.Entries[j].Aside || walk[j] != 0 {
				if walk[j] == i+1 {
					x.Faults = append(x.Faults, Fault{Kind: Cycle, Line: line(j), Text: "it is its own ancestor"})
				}
				break
			}
			if walk[j] = i + 1; f.Entries[j].Parent == "" {
				break
			}
		}
	}
}
