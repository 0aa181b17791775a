package pi

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/esjson"
)

// Header reads a header line: an object of type "session" whose id is a
// string.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := readEntry(line)
	if err != nil {
		return core.Header{}, err
	}
	return asHeader(e)
}

// asHeader reads e, the first entry of a file, as its header.
func asHeader(e core.Entry) (core.Header, error) {
	h := core.Header{Line: e.Line, ID: e.ID, Time: e.Time}
	switch e.Type {
	case typeHeader:
	case "title":
		return h, fmt.Errorf("it begins with the title slot of an omp session, not with a pi header: %w", core.ErrInvalid)
	default:
		return h, fmt.Errorf(`it begins with type %q, a pi header has type "session": %w`, clip(e.Type, 40), core.ErrInvalid)
	}
	stringID := false
	err := core.Members(e.Line, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			stringID = v.Kind() == '"'
		case "cwd":
			h.CWD, _ = text(v)
		case "parentSession":
			h.Parent, _ = text(v)
		}
	})
	if err == nil && !stringID {
		err = fmt.Errorf("the id in the header is no string: %w", core.ErrInvalid)
	}
	return h, err
}

// Entry reads any line as an entry. An id, parentId, type or timestamp that is
// no string counts as absent.
func (Dialect) Entry(line []byte) (core.Entry, error) { return readEntry(line) }

func readEntry(line []byte) (core.Entry, error) {
	e := core.Entry{Line: line}
	if bytes.IndexByte(line, '\n') >= 0 {
		return e, fmt.Errorf("more than one line: %w", core.ErrInvalid)
	}
	err := core.Members(line, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			e.ID, _ = text(v)
		case "parentId":
			e.Parent, _ = text(v)
		case "type":
			e.Type, _ = text(v)
		case "timestamp":
			e.Time, _ = text(v)
		}
	})
	if err != nil {
		return core.Entry{}, err
	}
	return e, nil
}

// object reads the line of an entry. The error names the entry.
func object(e core.Entry) (esjson.Object, error) {
	o, err := esjson.ParseObject(e.Line)
	if err != nil {
		return o, fmt.Errorf("entry %q: %v: %w", clip(e.ID, 64), err, core.ErrInvalid)
	}
	return o, nil
}

// nested reads v as an object, and reports false where it is none.
func nested(v esjson.Value) (esjson.Object, bool) {
	if v.Kind() != '{' {
		return esjson.Object{}, false
	}
	o, err := esjson.ParseObject(v)
	return o, err == nil
}

// text decodes v where it is a string. It is core.Text but for bytes that are
// no UTF-8, which JavaScript's decoder counts otherwise.
func text[V ~[]byte](v V) (string, bool) { return esjson.Value(v).Text() }

// clip shortens s for an error message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
