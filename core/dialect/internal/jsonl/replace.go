package jsonl

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// WithText returns line, one JSON object, with the value of the member called
// name replaced by text, if it is a string. Every member of that name is
// replaced. No other byte changes, and line itself is not modified. A line
// without such a member is returned unchanged.
func WithText(line []byte, name, text string) []byte {
	return Replace(line, name, func(old []byte) []byte {
		if jsjson.Value(old).Kind() != '"' {
			return old
		}
		return jsjson.AppendString(nil, text)
	})
}

// WithTextIn is WithText for a member of the object that outer is.
func WithTextIn(line []byte, outer, name, text string) []byte {
	return Replace(line, outer, func(old []byte) []byte {
		if jsjson.Value(old).Kind() != '{' {
			return old
		}
		return WithText(old, name, text)
	})
}

// WithNumber is WithText for a member that is a number, and its text.
func WithNumber(line []byte, name string, number []byte) []byte {
	return Replace(line, name, func(old []byte) []byte {
		if _, ok := jsjson.Value(old).Number(); !ok {
			return old
		}
		return number
	})
}

// Replace returns line, one JSON object, with the value of the member called name
// replaced by what change makes of it. Every member of that name is replaced. No
// other byte changes, and line itself is not modified. A line without such a
// member, or that is not one JSON object, is returned unchanged.
func Replace(line []byte, name string, change func(old []byte) []byte) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return line
	}
	var out []byte
	kept := 0 // of line is in out
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return line
		}
		found := t.String() == name
		value, err := d.ReadValue()
		if err != nil {
			return line
		}
		if !found {
			continue
		}
		end := int(d.InputOffset())
		start := end - len(value)
		out = append(append(out, line[kept:start]...), change(line[start:end])...)
		kept = end
	}
	if kept == 0 {
		return line
	}
	return append(out, line[kept:]...)
}

// Without returns line, one JSON object, without the members called name. No
// other byte changes, and line itself is not modified. A line without such a
// member, or that is not one JSON object, is returned unchanged.
func Without(line []byte, name string) []byte {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return line
	}
	from := int(d.InputOffset()) // the end of what comes before the member, without a comma
	first := true                // no member was kept yet
	out := line[:from:from]
	kept := from
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return line
		}
		found := t.String() == name
		if _, err := d.ReadValue(); err != nil {
			return line
		}
		end := int(d.InputOffset())
		switch {
		case found:
			kept = end
		case first && kept > from:
			out = append(out, bytes.TrimLeft(line[kept:end], ", \t\r\n")...)
			kept, first = end, false
		default:
			out = append(out, line[kept:end]...)
			kept, first = end, false
		}
	}
	if d.PeekKind() != '}' {
		return line
	}
	return append(out, line[kept:]...)
}
