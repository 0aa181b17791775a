package pi

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// NewName makes a line that names the session. As pi has it, line breaks in
// the name become one space each run and white space around it goes; nothing
// left clears the name.
func (Dialect) NewName(name string) []byte {
	return append(jsonl.AppendMember([]byte(`{"type":"session_info"`), "name", oneLine(name)), '}')
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
	return jsonl.Trim(b.String())
}
