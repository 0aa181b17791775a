package optional

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Examine reads the files of a session of d. If d is not an Examiner, its main file
// is examined by the rules of d for entries. Messages are then the entries that users,
// models, tools and extensions contribute to the model's context.
func Examine(d core.Dialect, main string, files map[string][]byte, join bool) (Examination, error) {
	if x, ok := d.(Examiner); ok {
		return x.Examine(main, files, join)
	}
	data := files[main]
	f, err := d.File(data)
	if err != nil {
		return Examination{}, err
	}
	all := f.Entries
	if !d.Linear() { // a path has an entry once
		all = distinct(all)
	}
	x := Examination{File: main, Messages: messagesIn(d, all)}
	lines := bytes.SplitAfter(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	x.examineSkipped(f, lines)
	seen := x.examineReading(d, f, data)
	if len(x.Faults) > 0 {
		x.writeCopy(d, f, lines)
	}
	faults := len(x.Faults)
	x.examineLinks(f)
	if err := x.examinePath(d, seen); err != nil {
		return x, err
	}
	if len(x.Faults) == faults && len(seen.Entries) == len(f.Entries) {
		x.Branches = x.Messages - x.Sent - x.Summarized
	}
	return x, nil
}

// distinct returns es without entries that repeat the last one with their id.
func distinct(es []core.Entry) []core.Entry {
	last := map[string][]byte{}
	return slices.DeleteFunc(slices.Clone(es), func(e core.Entry) bool {
		repeats := e.ID != "" && bytes.Equal(last[e.ID], e.Line)
		last[e.ID] = e.Line
		return repeats
	})
}

// messagesIn returns how many of es are messages.
func messagesIn(d core.Dialect, es []core.Entry) (n int) {
	for _, e := range es {
		if !e.Aside && slices.ContainsFunc(d.Read(e), func(it item.Item) bool { return it.Kind == item.Message || it.Kind == item.Note }) {
			n++
		}
	}
	return n
}

// examineReading returns f as the agent of d reads it, and names what it does not read.
func (x *Examination) examineReading(d core.Dialect, f *core.File, data []byte) *core.File {
	a, ok := d.(AgentReader)
	if !ok {
		return f
	}
	seen, err := a.AgentFile(data)
	if err != nil {
		x.Faults = append(x.Faults, Fault{Kind: Refused, Text: "the agent does not open the file: " + core.Reason(err)})
		return &core.File{}
	}
	read := map[string]bool{}
	for _, e := range seen.Entries {
		read[string(e.Line)] = true
	}
	for i, e := range f.Entries {
		if !read[string(e.Line)] && i < len(f.Lines) {
			x.Faults = append(x.Faults, Fault{Kind: EndsInside, Line: f.Lines[i], Text: "the agent splits it into lines at U+0085, U+2028 or U+2029"})
		}
	}
	return seen
}

// examineSkipped names the lines that are not entries. The objects of glued lines are
// put on lines of their own in lines, and other such lines are removed. A line may hold
// an entry and text after it.
func (x *Examination) examineSkipped(f *core.File, lines [][]byte) {
	hold := map[int]bool{}
	for _, n := range f.Lines {
		hold[n] = true
	}
	for _, bad := range f.Skipped {
		fault := Fault{Kind: BadLine, Line: bad.Line, Text: bad.Error}
		if i := bad.Line - 1; i >= 0 && i < len(lines) {
			if parts := glued(lines[i]); parts != nil {
				fault.Kind, fault.Text = GluedLines, fmt.Sprintf("it holds %d lines", len(parts))
				lines[i] = append(bytes.Join(parts, []byte("\n")), '\n')
			} else if !hold[bad.Line] {
				lines[i] = nil
			}
		}
		x.Faults = append(x.Faults, fault)
	}
}

// writeCopy makes a copy of the file with these lines, if the agent reads more of the copy
// than of the file. Separators are escaped only for an agent that ends lines there: a log
// that has the original line refuses the rewritten one.
func (x *Examination) writeCopy(d core.Dialect, f *core.File, lines [][]byte) {
	data := bytes.Join(lines, nil)
	again, err := asAgent(d, data)
	escaped := jsonline.EscapeSeparators(data)
	if more, refused := asAgent(d, escaped); refused == nil && (err != nil || len(more.Entries) > len(again.Entries)) {
		data, again, err = escaped, more, nil
	}
	if err != nil {
		return
	}
	repairs := len(again.Entries) > len(f.Entries)
	for i := range x.Faults {
		switch x.Faults[i].Kind {
		case Refused, EndsInside:
			repairs = true
		case GluedLines:
		default:
			continue
		}
		x.Faults[i].Repair = ByCopy
	}
	if repairs {
		x.Copy = data
	}
}

// asAgent reads a file as the agent of d does, as far as that is known.
func asAgent(d core.Dialect, data []byte) (*core.File, error) {
	if a, ok := d.(AgentReader); ok {
		return a.AgentFile(data)
	}
	return d.File(data)
}

// examinePath counts the messages on the path to the leaf of f: those that are sent, and
// those that a compaction summarized.
func (x *Examination) examinePath(d core.Dialect, f *core.File) error {
	leaf := d.Leaf(f.Entries)
	path, err := d.Path(f.Entries, leaf)
	if id, _ := leaf.ID(); errors.Is(err, core.ErrNotFound) {
		x.Faults = append(x.Faults, Fault{Kind: MissingLeaf, Text: fmt.Sprintf("the session continues at %.64q, which is not in the file", id)})
		return nil
	}
	if err != nil {
		return err
	}
	from := x.beginOfContext(d, path)
	x.Summarized = messagesIn(d, path[:from])
	x.Sent = messagesIn(d, path[from:])
	return nil
}

// beginOfContext returns the index of the first entry of path that is sent.
func (x *Examination) beginOfContext(d core.Dialect, path []core.Entry) int {
	if w, ok := d.(core.Windower); ok {
		if _, from, ok := w.Window(path); ok {
			return from
		}
	}
	for at := len(path) - 1; at >= 0; at-- {
		for _, it := range d.Read(path[at]) {
			if it.Kind != item.Compaction {
				continue
			}
			if from := slices.IndexFunc(path[:at], func(e core.Entry) bool { return it.Target != "" && e.ID == it.Target }); from >= 0 {
				return from
			}
			if it.Target != "" && it.Target != path[at].ID {
				x.Faults = append(x.Faults, Fault{Kind: LostSegment, Text: fmt.Sprintf("the last compaction keeps entries from %.64q on, which is not before it", it.Target)})
			}
			return at
		}
	}
	return 0
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
