package follow

import (
	"bytes"
	"encoding/json"

	"github.com/sesslog/sesslog/core"
)

const (
	// dropsLastLine is the dialect whose agent ignores a last line without a newline.
	dropsLastLine = "openrath"
	// multiLine is the dialect whose agent reads objects that span several lines.
	multiLine = "omp"
)

// A batch is the lines that were added to a file.
type batch struct {
	entries []core.Entry
	body    []byte   // the entries, as they are appended
	bad     [][]byte // lines that are not entries
}

// parseBatch parses added lines. ok is false if an append would not store one of
// them as it is; then the file must be compared.
func parseBatch(d core.Dialect, data []byte) (b batch, ok bool) {
	b.body = make([]byte, 0, len(data))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if isBlank(line) {
			continue
		}
		e, err := d.Entry(line)
		switch {
		case err != nil && d.Name() == multiLine:
			return batch{}, false
		case err != nil:
			b.bad = append(b.bad, line)
		case !isComplete(d, e):
			return batch{}, false
		default:
			b.entries = append(b.entries, e)
			b.body = append(append(b.body, line...), '\n')
		}
	}
	return b, true
}

// isComplete reports whether an append stores e's line as it is: the entry is in
// the tree, and lacks no field that the log would fill in.
func isComplete(d core.Dialect, e core.Entry) bool {
	if e.ID == "" || len(e.ID) > core.MaxEntryID {
		return false
	}
	filled, err := d.Fill(e.Line, core.Fields{ID: e.ID, Parent: core.LeafAt("parent"), Time: "2026-01-01T00:00:00.000Z", Position: 1})
	return err == nil && bytes.Equal(filled.Line, e.Line)
}

// completeLines cuts data after its last complete line. With final, a last line
// without a newline is complete if it is a JSON object. rest is what remains,
// without spaces.
func completeLines(data []byte, final bool) (lines, rest []byte) {
	n := bytes.LastIndexByte(data, '\n') + 1
	rest = bytes.TrimSpace(data[n:])
	if final && isObject(rest) {
		return data, nil
	}
	return data[:n], rest
}

func isBlank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

func isObject(b []byte) bool {
	return len(b) > 1 && b[0] == '{' && b[len(b)-1] == '}' && json.Valid(b)
}
