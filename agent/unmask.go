package agent

import (
	"bytes"
	"slices"

	"github.com/sesslog/sesslog/core/redact"
)

// An unmasker gives lines of the log the secrets that this host's own file has: they
// were masked when the lines left the host.
type unmasker struct {
	local [][]byte // lines that were not used yet
}

func newUnmasker(file []byte) *unmasker { return &unmasker{bytes.Split(file, []byte("\n"))} }

// line returns the line of the file that became line when it was masked, or line.
func (u *unmasker) line(line []byte) []byte {
	masks := redact.Masks(line)
	if len(masks) == 0 {
		return line
	}
	start := line[:masks[0][0]]
	for i, own := range u.local {
		if bytes.HasPrefix(own, start) && !bytes.Equal(own, line) && redact.Covers(line, own) {
			u.local = slices.Delete(u.local, i, i+1)
			return own
		}
	}
	return line
}

// lines is line for all lines of data.
func (u *unmasker) lines(data []byte) []byte {
	if redact.Masks(data) == nil {
		return data
	}
	out := make([]byte, 0, len(data))
	for line := range bytes.Lines(data) {
		own := bytes.TrimSuffix(line, []byte("\n"))
		out = append(append(out, u.line(own)...), line[len(own):]...)
	}
	return out
}
