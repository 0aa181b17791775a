package tree

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/jsonline"
)

// parentNames are the members in which agents that keep a tree name an entry's
// parent.
var parentNames = []string{"parentId", "parent_id"}

// Reparent returns an entry line of d's agent with its parent replaced by
// another entry, or by none. No other byte changes, and line itself is not
// modified. A line that names no parent, not even null, is returned unchanged.
func Reparent(d core.Decoder, line []byte, parent core.Leaf) []byte {
	value := []byte("null")
	if id, ok := parent.ID(); ok {
		value, _ = json.Marshal(id) // a string always can be
	}
	for _, name := range parentNames {
		from, to := valueIn(line, name)
		if from == to {
			continue
		}
		// Whether it is d's own name for it shows in what d reads then.
		if e, err := d.Entry(spliced(line, from, to, []byte(`"-"`))); err == nil && e.Parent == "-" {
			return spliced(line, from, to, value)
		}
	}
	return line
}

func spliced(line []byte, from, to int, value []byte) []byte {
	return bytes.Join([][]byte{line[:from], value, line[to:]}, nil)
}

// valueIn is the position in line of the value of the member called name, or an
// empty range if there is none. Of several, the last counts.
func valueIn(line []byte, name string) (from, to int) {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsonline.Lenient...)
	if _, err := d.ReadToken(); err != nil {
		return 0, 0
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return 0, 0
		}
		here := t.String() == name
		v, err := d.ReadValue()
		if err != nil {
			return 0, 0
		}
		if here {
			to = int(d.InputOffset())
			from = to - len(v)
		}
	}
	return from, to
}
