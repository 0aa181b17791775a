package openrath

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// File reads a session file, complete or partial. Lines end only at "\n". A
// line without an end is incomplete and is reported. Empty lines are left out.
// A line that would make OpenRath refuse the file is skipped and reported,
// including lines before the header and a second header, which OpenRath writes
// when it opens an abandoned file again. Returns ErrInvalid if there is no
// header, or the dialect cannot migrate it to the current version.
func (d Dialect) File(data []byte) (*core.File, error) {
	r := d.newReader(data)
	for !r.done() {
		if err := r.next(); err != nil {
			r.skip(err)
		}
	}
	if !r.begun {
		return nil, r.noSession()
	}
	f := r.file
	f.Exact = bytes.Equal(core.Lines(d.Layout(f.Header, f.Entries)), data)
	return f, nil
}

// A reader makes a file of lines.
type reader struct {
	d     Dialect
	file  *core.File
	rest  []byte
	line  int // the number of the last line that was taken
	begun bool
	from  int // the version that the header had
}

func (d Dialect) newReader(data []byte) *reader {
	return &reader{d: d, file: &core.File{Dialect: name}, rest: bytes.TrimPrefix(data, jsonl.ByteOrderMark)}
}

func (r *reader) done() bool { return len(r.rest) == 0 }

// next takes the next line. The error says why OpenRath would refuse the file,
// or that the line is incomplete.
func (r *reader) next() error {
	line, rest, ended := bytes.Cut(r.rest, []byte("\n"))
	line = line[:len(line):len(line)]
	r.rest = rest
	r.line++
	switch {
	case !ended:
		return errUnfinished
	case len(bytes.TrimSpace(line)) == 0:
		return nil
	}
	return r.record(line)
}

var errUnfinished = fmt.Errorf("the line does not end, its writer was interrupted: %w", core.ErrInvalid)

func (r *reader) record(line []byte) error {
	o, err := readRecord(line)
	if err != nil {
		return err
	}
	switch kind := o.Get("record_type"); {
	case kind.Is(recordHeader) && !r.begun:
		return r.begin(line)
	case kind.Is(recordChunk):
		if !r.begun {
			return fmt.Errorf("chunk record before header: %w", core.ErrInvalid)
		}
		if line, err = r.d.Migrations.chunk(line, r.from); err != nil {
			return err
		}
	}
	e, err := r.d.Entry(line)
	if err != nil {
		return err
	}
	if !r.begun {
		return fmt.Errorf("trailer record before header: %w", core.ErrInvalid)
	}
	r.file.Entries = append(r.file.Entries, e)
	r.file.Lines = append(r.file.Lines, r.line)
	return nil
}

func (r *reader) begin(line []byte) error {
	o, err := readRecord(line)
	if err != nil {
		return err
	}
	declared := o.Get("schema_version")
	if r.from, err = schemaVersion(declared); err != nil {
		return err
	}
	if line, err = r.d.Migrations.header(line, r.from); err != nil {
		return err
	}
	if r.file.Header, err = r.d.Header(line); err != nil {
		return err
	}
	r.begun, r.file.Version = true, strconv.Itoa(r.from)
	return nil
}

func (r *reader) skip(err error) {
	r.file.Skipped = append(r.file.Skipped, core.BadLine{Line: r.line, Error: core.Reason(err)})
}

// noSession says why the lines are not a session.
func (r *reader) noSession() error {
	if len(r.file.Skipped) == 0 {
		return fmt.Errorf("not an OpenRath session: no header record found: %w", core.ErrInvalid)
	}
	first := r.file.Skipped[0]
	return fmt.Errorf("not an OpenRath session: no header record found; line %d: %s: %w", first.Line, first.Error, core.ErrInvalid)
}

// headerWithin is how far into a file Detect looks for a record.
const headerWithin = 1 << 20

// Detect reports whether the first object among the lines of data has a
// record_type, which no other agent's lines have.
func (Dialect) Detect(data []byte) bool {
	body := bytes.TrimPrefix(data, jsonl.ByteOrderMark)
	for _, line := range jsonl.Numbered(body[:min(len(body), headerWithin)]) {
		if o, err := readRecord(line); err == nil {
			kind, _ := o.Get("record_type").Text()
			return kind != ""
		}
	}
	return false
}
