package reader

import (
	"encoding/json"
	"regexp"
)

// A Leaf is where a head points to. The zero Leaf leaves it to the dialect.
type Leaf struct {
	ID   string `json:"id,omitempty"`
	None bool   `json:"none,omitempty"`
}

// An entry is a line and what folding needs to know of it.
type entry struct {
	line  []byte
	id    string
	kind  string // its type
	aside bool   // it moves no head
	leaf  string // of an operator leaf entry: its target
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

func readEntry(dialect string, line []byte) (entry, error) {
	e := entry{line: line}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return e, err
	}
	e.id, e.kind = text(m["id"]), text(m["type"])
	switch dialect {
	case "omp":
		e.aside = e.kind == "title" && e.id == "" && isTitleSlot(m)
	case "operator":
		e.leaf = text(m["target_id"])
	case "openrath":
		e.aside = text(m["record_type"]) == "trailer"
		if e.id == "" && decimal.Match(m["index"]) {
			e.id = string(m["index"])
		}
	}
	return e, nil
}

// isTitleSlot reports whether a line of type title is a slot of omp's.
func isTitleSlot(m map[string]json.RawMessage) bool {
	var v float64
	if json.Unmarshal(m["v"], &v) != nil || v != 1 || m["v"][0] == 'n' {
		return false
	}
	if s := text(m["source"]); m["source"] != nil && s != "auto" && s != "user" {
		return false
	}
	return isText(m["title"]) && isText(m["updatedAt"]) && isText(m["pad"])
}

func isText(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

func text(v json.RawMessage) string {
	var s string
	if isText(v) {
		_ = json.Unmarshal(v, &s)
	}
	return s
}

// leafOf is where a head points to after es. moves is false if it stays.
func leafOf(dialect string, es []entry) (leaf Leaf, moves bool) {
	for i := len(es) - 1; i >= 0; i-- {
		moves = moves || !es[i].aside
	}
	for i := len(es) - 1; i >= 0; i-- {
		e := &es[i]
		switch {
		case e.aside,
			(dialect == "pi" || dialect == "operator") && e.kind == "session",
			dialect == "operator" && (e.kind == "session_header" || !operatorTypes[e.kind]),
			dialect == "nova" && e.id == "":
			continue
		case dialect == "operator" && e.kind == "leaf":
			return Leaf{ID: e.leaf, None: e.leaf == ""}, moves
		}
		return Leaf{ID: e.id}, moves
	}
	switch dialect {
	case "openrath", "nova":
		return Leaf{None: true}, moves
	case "operator":
		return Leaf{ID: lastID(es)}, moves
	}
	return Leaf{}, moves
}

// lastID is the id of the last of es that is no header and has one.
func lastID(es []entry) string {
	for i := len(es) - 1; i >= 0; i-- {
		if e := &es[i]; e.id != "" && e.kind != "session" && e.kind != "session_header" {
			return e.id
		}
	}
	return ""
}

var operatorTypes = map[string]bool{
	"message": true, "thinking_level_change": true, "model_change": true, "compaction": true, "branch_summary": true,
	"label": true, "leaf": true, "custom": true, "custom_message": true, "session_info": true, "channel": true,
}

// layout is the lines of a session in the order of its agent's file.
func layout(dialect string, header []byte, es []entry) [][]byte {
	var lines [][]byte
	var last []byte // of those that stand aside
	for i := range es {
		if es[i].aside {
			last = es[i].line
			continue
		}
		lines = append(lines, es[i].line)
	}
	lines = append([][]byte{header}, lines...)
	switch {
	case last == nil:
	case dialect == "omp":
		lines = append([][]byte{last}, lines...)
	default:
		lines = append(lines, last)
	}
	return lines
}
