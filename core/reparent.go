package core

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Reparent returns an entry line of an agent that keeps a tree with another
// parent: an entry, or none. No other byte changes. A line that says no parent
// is returned as it is; line itself never changes.
func Reparent(line []byte, parent Leaf) []byte {
	from, to := parentIn(line)
	if from == to {
		return line
	}
	value := []byte("null")
	if id, ok := parent.ID(); ok {
		value, _ = json.Marshal(id) // a string always can be
	}
	return bytes.Join([][]byte{line[:from], value, line[to:]}, nil)
}

// SaysParent reports whether line has a member for its parent, also null.
func SaysParent(line []byte) bool {
	from, to := parentIn(line)
	return from < to
}

// parentIn is where in line the parent's value is, nowhere where there is none.
// Of several the last counts.
func parentIn(line []byte) (from, to int) {
	d := jsontext.NewDecoder(bytes.NewReader(line), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return 0, 0
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return 0, 0
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return 0, 0
		}
		if name == "parentId" {
			to = int(d.InputOffset())
			from = to - len(v)
		}
	}
	return from, to
}
