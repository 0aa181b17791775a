package pi

import (
	"bytes"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/dialect/internal/migrate"
)

// File reads a session file. Lines end only at "\n". Empty lines are left out.
// Other lines that are not objects are skipped and reported, including before
// the header. A file older than version 3 is migrated.
func (Dialect) File(data []byte) (*core.File, error) {
	body, marked := bytes.CutPrefix(data, jsonl.ByteOrderMark)
	f := &core.File{Dialect: "pi", Exact: !marked && bytes.HasSuffix(body, []byte("\n"))}
	records, err := readLines(f, body)
	if err != nil {
		return nil, err
	}
	f.Header, err = asHeader(records[0])
	if err != nil {
		return nil, fmt.Errorf("not a pi session: line %d: %w", f.Lines[0], err)
	}
	migrated := false
	f.Version, migrated, err = migrate.ToV3(records)
	if err != nil {
		return nil, err
	}
	f.Exact = f.Exact && !migrated
	f.Header.Line = records[0].Line
	f.Entries, f.Lines = records[1:], f.Lines[1:]
	return f, nil
}

// AgentFile implements optional.AgentReader: pi refuses a file that begins with a
// byte order mark, and fails at a message entry without a message.
func (d Dialect) AgentFile(data []byte) (*core.File, error) {
	if bytes.HasPrefix(data, jsonl.ByteOrderMark) {
		return nil, jsonl.ErrMarked
	}
	f, err := d.File(data)
	if err != nil {
		return nil, err
	}
	path, err := d.Path(f.Entries, d.Leaf(f.Entries))
	if err != nil {
		return nil, err
	}
	return f, jsonl.CheckMessages(path)
}

// readLines returns the lines of body that are objects, with their numbers in
// f.Lines, and the others in f.Skipped. There is at least one.
func readLines(f *core.File, body []byte) ([]core.Entry, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("not a pi session: the file is empty: %w", core.ErrInvalid)
	}
	lines := jsonl.CountUpTo(body)
	records := make([]core.Entry, 0, lines)
	f.Lines = make([]int, 0, lines)
	for n, line := range jsonl.Numbered(body) {
		if jsonl.IsBlank(line) {
			f.Exact = false
			continue
		}
		e, err := jsonl.Entry(line)
		if err != nil {
			f.Exact = false
			f.Skipped = append(f.Skipped, core.BadLine{Line: n, Error: core.Reason(err)})
			continue
		}
		records = append(records, e)
		f.Lines = append(f.Lines, n)
	}
	if len(records) > 0 {
		return records, nil
	}
	if len(f.Skipped) > 0 {
		first := f.Skipped[0]
		return nil, fmt.Errorf("not a pi session: no line is a JSON object (line %d: %s): %w", first.Line, first.Error, core.ErrInvalid)
	}
	return nil, fmt.Errorf("not a pi session: there is nothing but white space: %w", core.ErrInvalid)
}

// headerWithin is how far into a file pi looks for a header.
const headerWithin = 1 << 20

// Detect reports whether the first object among the lines of data is a header
// of pi. If times are numbers, it is Operator's, which else looks the same.
func (Dialect) Detect(data []byte) bool {
	body := bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	body = body[:min(len(body), headerWithin)]
	for _, line := range jsonl.Numbered(body) {
		if e, err := jsonl.Entry(line); err == nil {
			_, err := asHeader(e)
			return err == nil && !jsonl.NumericTime(body)
		}
	}
	return false
}
