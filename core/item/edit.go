package item

import (
	"encoding/json"
	"strings"
)

// An Edit is a change of a file that a call of a tool asks for.
type Edit struct {
	Path string `json:"path"`
	// Old is the text that New replaces. Both are empty if there is a Patch.
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
	Whole bool   `json:"whole,omitempty"` // New is the whole file
	// Patch are lines that begin with "+", "-", " " or "@@".
	Patch string `json:"patch,omitempty"`
}

// An EditTool names the members of the arguments of a tool that changes files. Names
// that it has no use for are empty.
type EditTool struct {
	Path     string
	Old, New string // of a replaced text
	List     string // of several replaced texts
	Content  string // of a whole file
	Patch    string // of a patch in the form of apply_patch
}

// Edits returns the changes that a call with these arguments asks for.
func (t EditTool) Edits(args json.RawMessage) (all []Edit) {
	m := members(args)
	path := textOf(m[t.Path])
	if patch := textOf(m[t.Patch]); patch != "" {
		return patchEdits(patch)
	}
	if content, ok := m[t.Content]; ok && t.Content != "" {
		return []Edit{{Path: path, New: textOf(content), Whole: true}}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(m[t.List], &list) // of another form there is none
	for _, one := range append(list, args) {
		m := members(one)
		before, after := m[t.Old], m[t.New]
		if isText(before) && isText(after) {
			all = append(all, Edit{Path: path, Old: textOf(before), New: textOf(after)})
		}
	}
	return all
}

func members(raw json.RawMessage) (m map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &m) // of another form it has none
	return m
}

func isText(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '"' }

func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// patchEdits returns the parts of a patch, one for each file.
func patchEdits(patch string) (all []Edit) {
	var lines []string
	end := func() {
		if n := len(all) - 1; n >= 0 {
			all[n].Patch = strings.Join(lines, "\n")
		}
		lines = nil
	}
	for line := range strings.SplitSeq(patch, "\n") {
		word, path, marked := strings.Cut(strings.TrimPrefix(line, "*** "), ": ")
		switch {
		case !strings.HasPrefix(line, "*** "):
			lines = append(lines, line)
		case marked && (word == "Add File" || word == "Update File" || word == "Delete File"):
			end()
			all = append(all, Edit{Path: strings.TrimSpace(path)})
		}
	}
	end()
	return all
}
