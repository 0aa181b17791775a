package omp

import (
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// NewName makes a line that names the session. As omp has it, control
// characters and runs of spaces in the name become one space and white space
// around it goes. Nothing left clears the name, which omp cannot.
func (Dialect) NewName(name string) []byte {
	b := jsonl.AppendMember([]byte(`{"type":"title_change"`), "title", oneLine(name))
	return append(jsonl.AppendMember(b, "source", "user"), '}')
}

// oneLine makes one space of each run of spaces and control characters, and
// trims.
func oneLine(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		control := r < 0x20 || 0x7F <= r && r <= 0x9F
		isSpace := control || r == ' '
		switch {
		case !isSpace:
			b.WriteRune(r)
		case !space:
			b.WriteByte(' ')
		}
		space = isSpace
	}
	return jsonl.Trim(b.String())
}
