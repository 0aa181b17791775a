package omp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// A reader takes the objects off the beginning of a file.
type reader struct {
	rest    []byte
	line    int          // number of the line that rest begins with
	records []core.Entry // the objects, with the lines they begin on
	lines   []int
	skipped []core.BadLine
	clean   bool // the records, each on a line, are all there was
	// budget is how many bytes may still be scanned in vain for the end of an
	// object that spans several lines. Without a limit, a file of nothing but
	// beginnings would take quadratic time.
	budget int
}

// slot takes the title slot away, which is the first line or nowhere.
func (r *reader) slot() core.Entry {
	line, rest, ok := bytes.Cut(r.rest, []byte("\n"))
	if !ok {
		return core.Entry{}
	}
	e, err := readEntry(line[:len(line):len(line)])
	if err != nil || !e.Aside {
		return core.Entry{}
	}
	r.rest, r.line = rest, r.line+1
	return e
}

func (r *reader) read() {
	for r.next() {
	}
}

// next takes one line away, or the lines of one object, and reports whether
// there was any.
func (r *reader) next() bool {
	if len(r.rest) == 0 {
		return false
	}
	line, rest, _ := bytes.Cut(r.rest, []byte("\n"))
	line = line[:len(line):len(line)]
	if jsonl.IsBlank(line) {
		r.clean = false
		r.rest, r.line = rest, r.line+1
		return true
	}
	e, err := readEntry(line)
	if err == nil {
		r.add(e)
		r.rest, r.line = rest, r.line+1
		return true
	}
	r.clean = false
	value := r.value(line)
	if value == nil {
		r.skip(err)
		r.rest, r.line = rest, r.line+1
		return true
	}
	if e, err = oneLiner(value); err == nil {
		r.add(e)
	} else {
		r.skip(err)
	}
	r.line += bytes.Count(value, []byte("\n"))
	behind, rest, _ := bytes.Cut(r.rest[len(value):], []byte("\n"))
	if err == nil && !jsonl.IsBlank(behind) {
		r.skip(fmt.Errorf("there is text after the object: %w", core.ErrInvalid))
	}
	r.rest, r.line = rest, r.line+1
	return true
}

func (r *reader) add(e core.Entry) {
	r.records = append(r.records, e)
	r.lines = append(r.lines, r.line)
}

func (r *reader) skip(err error) {
	r.skipped = append(r.skipped, core.BadLine{Line: r.line, Error: core.Reason(err)})
}

// value returns the JSON value at the beginning of rest, or nil if there is
// none. line is the first line of rest.
func (r *reader) value(line []byte) []byte {
	value, err := firstValue(line)
	if !errors.Is(err, io.ErrUnexpectedEOF) || r.budget <= 0 {
		return value
	}
	value, err = firstValue(r.rest)
	if err == nil {
		return value
	}
	looked := len(r.rest)
	if e := (*jsontext.SyntacticError)(nil); errors.As(err, &e) && !errors.Is(err, io.ErrUnexpectedEOF) {
		looked = int(e.ByteOffset)
	}
	r.budget -= looked
	return nil
}

// firstValue returns b up to the end of the first JSON value in it.
func firstValue(b []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadValue(); err != nil {
		return nil, err
	}
	end := d.InputOffset()
	return b[:end:end], nil
}

// oneLiner reads value as an entry. If it spans several lines, it becomes what
// JSON.stringify returns for it.
func oneLiner(value []byte) (core.Entry, error) {
	if bytes.IndexByte(value, '\n') >= 0 {
		line, err := jsjson.Append(nil, value)
		if err != nil {
			return core.Entry{}, fmt.Errorf("not JSON: %v: %w", err, core.ErrInvalid)
		}
		value = line
	}
	return readEntry(value)
}

// nothing says why a file without a record is not a session.
func (r *reader) nothing() error {
	if len(r.skipped) > 0 {
		first := r.skipped[0]
		return fmt.Errorf("not an omp session: no line is a JSON object (line %d: %s): %w", first.Line, first.Error, core.ErrInvalid)
	}
	return fmt.Errorf("not an omp session: there is nothing but a title or white space: %w", core.ErrInvalid)
}
