package pi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sesslog/sesslog/core"
)

var byteOrderMark = []byte("\uFEFF")

// File reads a session file. Lines end at "\n" and nowhere else. Empty lines
// are left out, other lines that are no object are skipped and reported, also
// in front of the header. A file older than version 3 is migrated.
func (Dialect) File(data []byte) (*core.File, error) {
	body, marked := bytes.CutPrefix(data, byteOrderMark)
	f := &core.File{Dialect: "pi", Exact: !marked && bytes.HasSuffix(body, []byte("\n"))}
	records, err := readLines(f, body)
	if err != nil {
		return nil, err
	}
	f.Header, err = asHeader(records[0])
	if err != nil {
		return nil, fmt.Errorf("no pi session: line %d: %w", f.Lines[0], err)
	}
	if err := migrate(f, records); err != nil {
		return nil, err
	}
	f.Header.Line = records[0].Line
	f.Entries, f.Lines = records[1:], f.Lines[1:]
	return f, nil
}

// readLines returns the lines of body that are objects, with their numbers in
// f.Lines, and the others in f.Skipped. There is at least one.
func readLines(f *core.File, body []byte) ([]core.Entry, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("no pi session: the file is empty: %w", core.ErrInvalid)
	}
	var records []core.Entry
	for n, line := range numbered(body) {
		if isBlank(line) {
			f.Exact = false
			continue
		}
		e, err := readEntry(line)
		if err != nil {
			f.Exact = false
			f.Skipped = append(f.Skipped, core.BadLine{Line: n, Error: reason(err)})
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
		return nil, fmt.Errorf("no pi session: no line is a JSON object (line %d: %s): %w", first.Line, first.Error, core.ErrInvalid)
	}
	return nil, fmt.Errorf("no pi session: there is nothing but white space: %w", core.ErrInvalid)
}

// numbered yields the lines of body, from 1. What is behind the last "\n" is a
// line unless it is empty.
func numbered(body []byte) func(yield func(int, []byte) bool) {
	return func(yield func(int, []byte) bool) {
		for n := 1; len(body) > 0; n++ {
			line, rest, _ := bytes.Cut(body, []byte("\n"))
			if !yield(n, line[:len(line):len(line)]) {
				return
			}
			body = rest
		}
	}
}

// headerWithin is how far into a file pi looks for a header.
const headerWithin = 1 << 20

// Detect reports whether the first object among the lines of data is a header
// of pi. A number for a timestamp is Operator's, which else looks the same.
func (Dialect) Detect(data []byte) bool {
	body := bytes.TrimPrefix(data, byteOrderMark)
	for _, line := range numbered(body[:min(len(body), headerWithin)]) {
		if e, err := readEntry(line); err == nil {
			_, err := asHeader(e)
			return err == nil && !numericTime(e)
		}
	}
	return false
}

func numericTime(e core.Entry) bool {
	o, err := object(e)
	if err != nil || e.Time != "" {
		return false
	}
	_, is := o.Get("timestamp").Number()
	return is
}

// reason is err for a reader who knows already that the line is bad.
func reason(err error) string {
	s := err.Error()
	if errors.Is(err, core.ErrInvalid) {
		s = strings.TrimSuffix(s, ": "+core.ErrInvalid.Error())
	}
	return s
}

// isBlank reports whether line is nothing but what JavaScript takes for white
// space.
func isBlank(line []byte) bool {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if !isSpace(r) {
			return false
		}
		line = line[n:]
	}
	return true
}

// isSpace reports whether String.prototype.trim would take r away.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}

func trim(s string) string { return strings.TrimFunc(s, isSpace) }
