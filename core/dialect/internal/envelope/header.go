package envelope

import (
	"bytes"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

const typeHeader = "sesslog.session"

// NewHeader makes the header line of a session.
func NewHeader(dialect string, f core.HeaderFields) []byte {
	var l jsonl.Line
	l.Begin(typeHeader)
	l.Text("dialect", dialect)
	l.Text("id", f.ID)
	l.Text("timestamp", f.Time)
	l.Text("cwd", f.CWD)
	l.TextIf("parentSession", f.Parent)
	return append(l.Bytes, '}')
}

// Header reads a line that NewHeader made for the dialect. Parents and Lineage
// are left to the dialect.
func Header(dialect string, line []byte) (core.Header, error) {
	e, err := jsonl.Entry(line)
	if err != nil {
		return core.Header{}, err
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return core.Header{}, err
	}
	if e.Type != typeHeader || !o.Get("dialect").Is(dialect) {
		return core.Header{}, fmt.Errorf("not the header of a %s session: %w", dialect, core.ErrInvalid)
	}
	return jsonl.Header(e)
}

// SameHeader implements optional.Rewriter: both lines are headers of one session.
func SameHeader(dialect string, a, b []byte) bool {
	x, errX := Header(dialect, a)
	y, errY := Header(dialect, b)
	return errX == nil && errY == nil && x.ID == y.ID
}

// IsPacked reports whether data begins with a header that NewHeader made for the
// dialect.
func IsPacked(dialect string, data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if !bytes.HasPrefix(line, []byte(`{"type":"`+typeHeader+`"`)) {
		return false
	}
	_, err := Header(dialect, line)
	return err == nil
}

// File reads a session of d as the log has it, header first. Every line must be an
// entry of d.
func File(d core.Decoder, data []byte) (*core.File, error) {
	f := &core.File{Dialect: d.Name(), Version: "1", Exact: true}
	for n, line := range jsonl.Numbered(data) {
		if n == 1 {
			h, err := d.Header(line)
			if err != nil {
				return nil, err
			}
			f.Header = h
			continue
		}
		e, err := d.Entry(line)
		if err != nil {
			return nil, &core.LineError{Line: n, Err: err}
		}
		f.Entries = append(f.Entries, e)
		f.Lines = append(f.Lines, n)
	}
	return f, nil
}
