package jsonl

import (
	"bytes"
	"unicode/utf8"

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
	e, err := Entry(line)
	if err != nil {
		return core.Entry{}, err
	}
	members := [...]Member{{"id", Quoted(f.ID)}, {"parentId", Parent(f.Parent)}, {"timestamp", Quoted(f.Time)}}
	parent, _ := f.Parent.ID()
	if e.Tidy && utf8.ValidString(f.ID) && utf8.ValidString(parent) && utf8.ValidString(f.Time) {
		return fillTidy(e, members[:], [...]string{f.ID, parent, f.Time}), nil
	}
	return Entry(Complete(line, members[:]...))
}

// fillTidy is Fill for an entry whose line is tidy, and does not read the filled line again.
// values are those of the members id, parentId and timestamp.
func fillTidy(e core.Entry, members []Member, values [3]string) core.Entry {
	var v [len(filledMembers)]jsjson.Value
	jsjson.Tidy(e.Line).Pick(filledMembers[:], v[:])
	missing := make([]byte, 0, filledSize)
	for i, to := range []*string{&e.ID, &e.Parent, &e.Time} {
		if v[i] == nil && members[i].Value != nil {
			missing = appendMember(missing, members[i])
			*to = values[i]
		}
	}
	if len(missing) > 0 {
		e.Line = Insert(e.Line, missing)
		e.Tidy = v[3] == nil // a message is no longer the last member
	}
	return e
}

// filledSize is the size of the members that most lines lack.
const filledSize = 192

var filledMembers = [...]string{"id", "parentId", "timestamp", "message"}

// Complete returns line, one JSON object or null, with those of the members that it
// lacks added before its closing brace, or line itself if it lacks none or is null.
func Complete(line []byte, members ...Member) []byte {
	missing := lacks(line, members)
	if len(missing) == 0 {
		return line
	}
	return Insert(line, missing)
}

// Insert returns line, one JSON object, with members before its closing brace. They begin
// with a comma. It returns line itself if line is null.
func Insert(line, missing []byte) []byte {
	end := bytes.LastIndexByte(line, '}') // only white space follows it
	if end < 0 {
		return line
	}
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
			b = appendMember(b, m)
		}
	}
	return b
}

// appendMember appends a comma and m.
func appendMember(b []byte, m Member) []byte {
	return append(append(append(append(b, `,"`...), m.Name...), `":`...), m.Value...)
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
