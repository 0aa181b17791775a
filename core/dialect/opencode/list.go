package opencode

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// A list is a JSON array as it lies in a file: its items, and the text before,
// between and after them.
type list struct {
	items              [][]byte
	open, comma, close string
	uniform            bool // the text between two items is the same everywhere
}

// plainList is the text that JSON.stringify writes.
const plainOpen, plainComma, plainClose = "[", ",", "]"

// readList reads an array. Returns core.ErrInvalid if data is not one.
func readList(data []byte) (list, error) {
	l := list{uniform: true}
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return l, fmt.Errorf("not a list of events: %w", core.ErrInvalid)
	}
	end := 0 // of the last item
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return l, fmt.Errorf("the list of events is truncated, or is not JSON, after %d events: %w", len(l.items), core.ErrInvalid)
		}
		to := int(d.InputOffset())
		from := to - len(v)
		between := string(data[end:from])
		switch len(l.items) {
		case 0:
			l.open = between
		case 1:
			l.comma = between
		default:
			l.uniform = l.uniform && between == l.comma
		}
		l.items = append(l.items, data[from:to:to])
		end = to
	}
	if _, err := d.ReadToken(); err != nil {
		return l, fmt.Errorf("the list of events is truncated: %w", core.ErrInvalid)
	}
	rest := data[end:]
	if len(bytes.TrimLeft(data[int(d.InputOffset()):], " \t\r\n")) > 0 {
		return l, fmt.Errorf("data after the end of the list of events: %w", core.ErrInvalid)
	}
	if len(l.items) == 0 {
		l.open, rest = string(data), nil
	}
	if len(l.items) < 2 {
		l.comma = plainComma
	}
	l.close = string(rest)
	return l, nil
}

// isPlain reports whether the list is laid out as opencode's interface does.
func (l *list) isPlain() bool {
	return l.open == plainOpen && l.comma == plainComma && l.close == plainClose
}

// layout makes the line that says how the list is laid out.
func (l *list) layout() []byte {
	var o jsonl.Line
	o.Begin(typeLayout)
	o.Text("open", l.open)
	o.Text("comma", l.comma)
	o.Text("close", l.close)
	return append(o.Bytes, '}')
}

// readLayout is the inverse of layout.
func readLayout(line []byte) list {
	l := list{uniform: true}
	l.open, l.comma, l.close = text(line, "open"), text(line, "comma"), text(line, "close")
	return l
}

// text returns the list as a file.
func (l *list) text() []byte {
	size := len(l.open) + len(l.close)
	for _, it := range l.items {
		size += len(it) + len(l.comma)
	}
	b := append(make([]byte, 0, size), l.open...)
	for i, it := range l.items {
		if i > 0 {
			b = append(b, l.comma...)
		}
		b = append(b, it...)
	}
	return append(b, l.close...)
}
