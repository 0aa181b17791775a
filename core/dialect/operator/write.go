package operator

import (
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/jsonline"
)

// NewHeader makes a header of version 3, in Operator's order of members. A
// time that is neither ISO 8601 nor a number is left out.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	b := []byte(`{"type":"session","version":` + strconv.Itoa(version))
	b = jsonl.AppendMember(b, "id", f.ID)
	if n, ok := number(f.Time); ok {
		b = append(append(b, `,"timestamp":`...), n...)
	}
	b = jsonl.AppendMember(b, "cwd", f.CWD)
	if f.Parent != "" {
		b = jsonl.AppendMember(b, "parent_session", f.Parent)
	}
	return jsonline.EscapeSeparators(append(b, '}'))
}

// NewLabel makes a line that labels target, or clears its label if label is
// empty.
func (Dialect) NewLabel(target, label string) []byte {
	b := []byte(`{"type":"label"`)
	if label != "" {
		b = jsonl.AppendMember(b, "label", label)
	}
	return jsonline.EscapeSeparators(append(jsonl.AppendMember(b, "target_id", target), '}'))
}

// NewName makes a line that names the session. The name is stored unchanged and
// trimmed on reading. It returns nil for a blank name, which does not clear the
// previous one: Operator continues to use that, and so does Info.
func (Dialect) NewName(name string) []byte {
	if strings.TrimSpace(name) == "" {
		return nil
	}
	return jsonline.EscapeSeparators(append(jsonl.AppendMember([]byte(`{"type":"session_info"`), "name", name), '}'))
}
