package jsonl

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// A Member is a name and a JSON value. A nil Value stands for no member.
type Member struct {
	Name  string
	Value []byte
}

// Fill adds id, parentId and timestamp, in this order, before the closing brace
// of line, unless line has them or f does not give them. A member that line has
// stays, also null. No other byte changes, and line itself is not modified.
func Fill(line []byte, f core.Fields) (core.Entry, error) {
	if _, err := Entry(line); err != nil {
		return core.Entry{}, err
	}
	return Entry(Complete(line, Member{"id", Quoted(f.ID)}, Member{"parentId", Parent(f.Parent)}, Member{"timestamp", Quoted(f.Time)}))
}

// Complete returns line, one JSON object, with those of the members that it
// lacks added before its closing brace, or line itself if it lacks none.
func Complete(line []byte, members ...Member) []byte {
	missing := lacks(line, members)
	if len(missing) == 0 {
		return line
	}
	end := bytes.LastIndexByte(line, '}') // only white space follows it
	b := append(make([]byte, 0, len(line)+len(missing)), line[:end]...)
	if bytes.HasSuffix(bytes.TrimRight(b, " \t\r"), []byte("{")) {
		missing = missing[1:] // an empty object needs no comma
	}
	return append(append(b, missing...), line[end:]...)
}

// lacks returns the text of the members that line lacks, each after a comma.
func lacks(line []byte, members []Member) []byte {
	has := make([]bool, len(members))
	_ = jsonline.Members(line, func(name string, _ jsontext.Value) {
		for i := range members {
			has[i] = has[i] || name == members[i].Name
		}
	})
	var b []byte
	for i, m := range members {
		if m.Value != nil && !has[i] {
			b = append(append(append(append(b, `,"`...), m.Name...), `":`...), m.Value...)
		}
	}
	return b
}

// Quoted returns s as a JSON string, or nil if s is empty.
func Quoted(s string) []byte {
	if s == "" {
		return nil
	}
	return jsjson.AppendString(nil, s)
}

// Parent returns the value of the member that names the parent: a string, null
// for a root, or nil if p is the default leaf.
func Parent(p core.Leaf) []byte {
	if id, ok := p.ID(); ok {
		return jsjson.AppendString(nil, id)
	}
	if p.IsNone() {
		return []byte("null")
	}
	return nil
}
