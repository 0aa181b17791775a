package secrets

import (
	"bytes"

	"github.com/sesslog/sesslog/core/redact"
)

// maxRounds bounds how often a line is searched again after its secrets were masked.
const maxRounds = 8

// Mask returns lines with their secrets replaced by masks, line by line. It returns
// lines itself if there is none.
func (r *Rules) Mask(lines []byte) []byte {
	var out []byte // nil: nothing changed yet
	done := 0
	for line := range bytes.Lines(lines) {
		masked, changed := r.mask(bytes.TrimSuffix(line, []byte("\n")))
		if changed && out == nil {
			out = append(make([]byte, 0, len(lines)), lines[:done]...)
		}
		if out != nil {
			out = append(out, masked...)
			out = append(out, line[len(bytes.TrimSuffix(line, []byte("\n"))):]...)
		}
		done += len(line)
	}
	if out == nil {
		return lines
	}
	return out
}

// MaskText is Mask for a text whose secrets may span lines.
func (r *Rules) MaskText(text []byte) []byte {
	out, _ := r.mask(text)
	return out
}

// mask replaces what Find finds, until it finds nothing.
func (r *Rules) mask(line []byte) (masked []byte, changed bool) {
	for range maxRounds {
		found := r.Find(line)
		if len(found) == 0 {
			break
		}
		line, changed = replace(line, found), true
	}
	return line, changed
}

func replace(line []byte, found []Finding) []byte {
	out := make([]byte, 0, len(line)+32*len(found))
	at := 0
	for _, f := range found {
		out = append(append(out, line[at:f.Start]...), redact.Mask(f.Rule)...)
		at = f.End
	}
	return append(out, line[at:]...)
}
