package pi

import (
	"strconv"
	"strings"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// NewHeader makes a header of version 3, in pi's order of members.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	b := []byte(`{"type":"session","version":` + strconv.Itoa(version))
	b = appendMember(b, "id", f.ID)
	b = appendMember(b, "timestamp", f.Time)
	b = appendMember(b, "cwd", f.CWD)
	if f.Parent != "" {
		b = appendMember(b, "parentSession", f.Parent)
	}
	return append(b, '}')
}

// NewLabel makes a line that labels target, or takes its label away where
// label is empty.
func (Dialect) NewLabel(target, label string) []byte {
	b := appendMember([]byte(`{"type":"label"`), "targetId", target)
	if label != "" {
		b = appendMember(b, "label", label)
	}
	return append(b, '}')
}

// NewName makes a line that names the session. As pi has it, line breaks in
// the name become one space each run and white space around it goes; nothing
// left clears the name.
func (Dialect) NewName(name string) []byte {
	return append(appendMember([]byte(`{"type":"session_info"`), "name", oneLine(name)), '}')
}

func appendMember(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	return esjson.AppendString(b, value)
}

// oneLine makes one space of each run of CR and LF, and trims.
func oneLine(s string) string {
	var b strings.Builder
	broken := false
	for _, r := range s {
		isBreak := r == '\r' || r == '\n'
		switch {
		case !isBreak:
			b.WriteRune(r)
		case !broken:
			b.WriteByte(' ')
		}
		broken = isBreak
	}
	return trim(b.String())
}
