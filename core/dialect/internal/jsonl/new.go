package jsonl

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// NewHeader makes a header of that version, its members in the agents' order.
func NewHeader(version int, f core.HeaderFields) []byte {
	b := []byte(`{"type":"session","version":` + strconv.Itoa(version))
	b = AppendMember(b, "id", f.ID)
	b = AppendMember(b, "timestamp", f.Time)
	b = AppendMember(b, "cwd", f.CWD)
	if f.Parent != "" {
		b = AppendMember(b, "parentSession", f.Parent)
	}
	return append(b, '}')
}

// NewLabel makes a line that labels target, or clears its label if label is
// empty.
func NewLabel(target, label string) []byte {
	b := AppendMember([]byte(`{"type":"label"`), "targetId", target)
	if label != "" {
		b = AppendMember(b, "label", label)
	}
	return append(b, '}')
}

// AppendMember appends a comma and the member of an object.
func AppendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return jsjson.AppendString(b, value)
}

// Marshal encodes v without escaping <, > and &, or returns nil if JSON cannot represent
// v, such as a raw value that is not valid.
func Marshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
