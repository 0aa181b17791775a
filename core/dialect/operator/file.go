package operator

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/jsonline"
)

// File reads a session file. Lines end only at "\n". Empty lines are left out,
// and other lines that are not objects are skipped and reported. The first line
// that Operator can read must be the header. Objects that Operator cannot read
// are skipped before the header, and are entries after it. Files are never
// migrated.
func (Dialect) File(data []byte) (*core.File, error) {
	body, marked := bytes.CutPrefix(data, jsonl.ByteOrderMark)
	r := reader{file: &core.File{Dialect: name, Exact: !marked && bytes.HasSuffix(body, []byte("\n"))}}
	for n, line := range jsonl.Numbered(body) {
		if err := r.read(n, line); err != nil {
			return nil, err
		}
	}
	if !r.begun {
		return nil, r.noSession()
	}
	return r.file, nil
}

// AgentFile implements optional.AgentReader: Operator ends lines at more characters.
func (d Dialect) AgentFile(data []byte) (*core.File, error) {
	return d.File(jsonline.EndAtSeparators(data))
}

// A reader makes a file of lines.
type reader struct {
	file  *core.File
	begun bool // the header was met
}

// read takes the next line. It returns an error if the file is not a session.
func (r *reader) read(n int, line []byte) error {
	f := r.file
	if isBlank(line) {
		f.Exact = false
		return nil
	}
	e, err := readEntry(line)
	if err == nil && !r.begun {
		err = r.begin(e)
		if err == nil {
			return nil
		}
		if Check(line) == nil {
			r.skip(n, err)
			return r.noSession()
		}
	}
	if err != nil {
		r.skip(n, err)
		return nil
	}
	f.Entries = append(f.Entries, e)
	f.Lines = append(f.Lines, n)
	return nil
}

func (r *reader) begin(e core.Entry) error {
	h, err := asHeader(e)
	if err != nil {
		return err
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return err
	}
	r.begun, r.file.Header, r.file.Version = true, h, string(o.Get("version"))
	return nil
}

func (r *reader) skip(n int, err error) {
	r.file.Exact = false
	r.file.Skipped = append(r.file.Skipped, core.BadLine{Line: n, Error: core.Reason(err)})
}

// noSession says why the lines read so far are not a session.
func (r *reader) noSession() error {
	if len(r.file.Skipped) == 0 {
		return fmt.Errorf("not an Operator session: the file is empty: %w", core.ErrInvalid)
	}
	first := r.file.Skipped[0]
	return fmt.Errorf("not an Operator session: line %d: %s: %w", first.Line, first.Error, core.ErrInvalid)
}

// headerWithin is how far into a file Detect looks for a header.
const headerWithin = 1 << 20

// Detect reports whether the first object among the lines of data is a header
// that pi does not write: of the type "session_header", without an id, or in a file
// whose times are numbers.
func (Dialect) Detect(data []byte) bool {
	body := bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	body = body[:min(len(body), headerWithin)]
	for _, line := range jsonl.Numbered(body) {
		e, err := readEntry(line)
		if err != nil {
			continue
		}
		if _, err := asHeader(e); err != nil {
			return false
		}
		o, err := jsonl.Object(e)
		return err == nil && (e.Type == typeHeaderByBook || o.Get("id") == nil || jsonl.NumericTime(body))
	}
	return false
}

func isBlank(line []byte) bool { return len(bytes.TrimFunc(line, isSpace)) == 0 }

// isSpace reports whether Python's str.strip would take r away.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F }

func strip(s string) string { return strings.TrimFunc(s, isSpace) }
