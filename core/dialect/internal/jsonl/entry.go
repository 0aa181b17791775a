package jsonl

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// Entry reads any line as an entry. An id, parentId, type or timestamp that is
// no string counts as absent.
func Entry(line []byte) (core.Entry, error) {
	if e, ok := tidyEntry(line); ok {
		return e, nil
	}
	e := core.Entry{Line: line}
	if bytes.IndexByte(line, '\n') >= 0 {
		return e, fmt.Errorf("more than one line: %w", core.ErrInvalid)
	}
	var v [len(entryMembers)]jsjson.Value
	if err := jsjson.Pick(line, entryMembers[:], v[:]); err != nil {
		return core.Entry{}, reason(line, err)
	}
	e.Type = typeOf(v[2])
	e.ID, e.Parent, e.Time = Texts(v[0], v[1], v[3])
	return e, nil
}

// CheckEntry returns core.ErrInvalid for an entry that its agent would not read as
// part of the session: one whose parent is not an id, which separates later entries
// from their history; a message without a role, which is not sent to a model; and a
// compaction without a summary, which hides the history before it.
func CheckEntry(e core.Entry) error {
	names := [...]string{"parentId", "message", "summary"}
	var v [len(names)]jsjson.Value
	if err := jsjson.Pick(e.Line, names[:], v[:]); err != nil {
		return reason(e.Line, err)
	}
	if err := checkParent(names[0], v[0]); err != nil {
		return err
	}
	switch {
	case e.Type == "message":
		return checkMessage(v[1])
	case e.Type == "compaction" && v[2].Kind() != '"':
		return fmt.Errorf("its summary is not a string: %w", core.ErrInvalid)
	}
	return nil
}

func checkMessage(v jsjson.Value) error {
	if v.Kind() != '{' {
		return fmt.Errorf("its message is not an object: %w", core.ErrInvalid)
	}
	var role [1]jsjson.Value
	jsjson.PickAgain(v, []string{"role"}, role[:])
	if s, _ := Text(role[0]); s == "" {
		return fmt.Errorf("its message has no role: %w", core.ErrInvalid)
	}
	return nil
}

// CheckMessages returns core.ErrInvalid for the first of es that is a message entry
// without a message.
func CheckMessages(es []core.Entry) error {
	for _, e := range es {
		if e.Type != "message" {
			continue
		}
		var v [1]jsjson.Value
		if err := jsjson.Pick(e.Line, []string{"message"}, v[:]); err != nil || v[0].Kind() != '{' {
			return fmt.Errorf("entry %.64q has no message: %w", e.ID, core.ErrInvalid)
		}
	}
	return nil
}

// CheckParent returns core.ErrInvalid for a line whose member name, its parent, is
// neither an id nor null. An empty text names no entry.
func CheckParent(line []byte, name string) error {
	var v [1]jsjson.Value
	if err := jsjson.Pick(line, []string{name}, v[:]); err != nil {
		return reason(line, err)
	}
	return checkParent(name, v[0])
}

func checkParent(name string, v jsjson.Value) error {
	switch id, ok := Text(v); {
	case v.IsNullish() || id != "":
		return nil
	case ok:
		return fmt.Errorf("its %s is empty, not an id or null: %w", name, core.ErrInvalid)
	}
	return fmt.Errorf("its %s is not a string or null: %w", name, core.ErrInvalid)
}

// Texts decodes three values, which are empty if they are not strings. Strings
// without escapes share one allocation, because a session has many of them.
func Texts(a, b, c jsjson.Value) (string, string, string) {
	x, ok1 := a.Plain()
	y, ok2 := b.Plain()
	z, ok3 := c.Plain()
	if ok1 && ok2 && ok3 && len(x)+len(y)+len(z) <= 128 {
		var buf [128]byte
		all := string(append(append(append(buf[:0], x...), y...), z...))
		return all[:len(x)], all[len(x) : len(x)+len(y)], all[len(x)+len(y):]
	}
	s, _ := Text(a)
	t, _ := Text(b)
	u, _ := Text(c)
	return s, t, u
}

var entryMembers = [...]string{"id", "parentId", "type", "timestamp"}

// typeOf decodes a type. Nearly all entries are messages, which need not keep
// the word each for itself.
func typeOf(v jsjson.Value) string {
	if string(v) == `"message"` {
		return "message"
	}
	s, _ := Text(v)
	return s
}

// reason says why line is not an entry, in the same words as package core.
func reason(line []byte, err error) error {
	if told := jsonline.Members(line, func(string, jsontext.Value) {}); told != nil {
		return told
	}
	return fmt.Errorf("%v: %w", err, core.ErrInvalid)
}

// Header reads e as a header, whatever its type: an object whose id is a
// string.
func Header(e core.Entry) (core.Header, error) {
	h := core.Header{Line: e.Line, ID: e.ID, Time: e.Time}
	stringID := false
	err := jsonline.Members(e.Line, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			stringID = v.Kind() == '"'
		case "cwd":
			h.CWD, _ = Text(v)
		case "parentSession":
			h.Parent, _ = Text(v)
		}
	})
	if err == nil && !stringID {
		err = fmt.Errorf("the id in the header is not a string: %w", core.ErrInvalid)
	}
	return h, err
}

// NumericTime reports whether the first timestamp in the first two objects among
// the lines of data is a number. Operator writes numbers, and pi strings.
func NumericTime(data []byte) bool {
	objects := 0
	for _, line := range Numbered(data) {
		o, err := jsjson.ParseObject(line)
		if err != nil {
			continue
		}
		if at := o.Get("timestamp"); at != nil {
			_, is := at.Number()
			return is
		}
		if objects++; objects == 2 {
			break
		}
	}
	return false
}

// Object reads the line of an entry. The error names the entry.
func Object(e core.Entry) (jsjson.Object, error) {
	o, err := jsjson.ParseObject(e.Line)
	if err != nil {
		return o, fmt.Errorf("entry %q: %v: %w", Clip(e.ID, 64), err, core.ErrInvalid)
	}
	return o, nil
}

// Inside returns the member of an entry's line called outer, and in values the
// members of that object called names; missing ones are nil. same reports that
// Append would only copy the member. The error names the entry.
func Inside(e core.Entry, outer string, names []string, values []jsjson.Value) (member jsjson.Value, same bool, err error) {
	member, same, err = jsjson.PickIn(e.Line, outer, names, values)
	if err != nil {
		return nil, false, fmt.Errorf("entry %q: %v: %w", Clip(e.ID, 64), err, core.ErrInvalid)
	}
	return member, same, nil
}

// Nested reads v as an object, and reports false if it is not one.
func Nested(v jsjson.Value) (jsjson.Object, bool) {
	if v.Kind() != '{' {
		return jsjson.Object{}, false
	}
	o, err := jsjson.ParseObject(v)
	return o, err == nil
}

// Text decodes v if it is a string. It differs from jsonline.Text only in how many
// U+FFFD it returns for invalid UTF-8, where it follows JavaScript.
func Text[V ~[]byte](v V) (string, bool) { return jsjson.Value(v).Text() }

// Build returns the text of o.
func Build(o *jsjson.Object) (jsjson.Value, error) {
	b, err := o.Append(nil)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	return b, nil
}

// Append appends v as JSON.stringify writes it.
func Append(b []byte, v jsjson.Value) ([]byte, error) {
	b, err := jsjson.Append(b, v)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", err, core.ErrInvalid)
	}
	return b, nil
}

// Clip shortens s for an error message.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// ArgumentText returns args as a model writes them. In an item, text that is not JSON is a
// JSON string.
func ArgumentText(args []byte) string {
	if s, ok := jsjson.Value(args).Text(); ok {
		return s
	}
	if len(args) == 0 {
		return "{}"
	}
	return string(args)
}
