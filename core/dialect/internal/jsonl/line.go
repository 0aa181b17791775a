package jsonl

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A Line is an object in the making, as JSON.stringify would write it, and what
// of that which it is made of had no place in it.
type Line struct {
	Bytes []byte
	Lost  []string
}

// Begin begins an object of a type, which is plain.
func (l *Line) Begin(kind string) { l.Bytes = append(l.Bytes, `{"type":"`+kind+`"`...) }

// Text adds a member.
func (l *Line) Text(name, value string) { l.Bytes = AppendMember(l.Bytes, name, value) }

// TextIf adds a member unless value is empty.
func (l *Line) TextIf(name, value string) {
	if value != "" {
		l.Text(name, value)
	}
}

// Raw adds a member whose value is JSON.
func (l *Line) Raw(name string, value []byte) {
	l.Bytes = append(append(append(l.Bytes, `,"`...), name...), `":`...)
	l.Bytes = append(l.Bytes, value...)
}

// Value adds a member with any JSON value, or nothing if v is nil.
func (l *Line) Value(name string, v json.RawMessage) {
	if v == nil {
		return
	}
	b, err := jsjson.Append(nil, jsjson.Value(v))
	if err != nil {
		l.Lose(name + " that are not JSON")
		return
	}
	l.Raw(name, b)
}

// Lose notes what had no place.
func (l *Line) Lose(what string) { l.Lost = append(l.Lost, what) }
