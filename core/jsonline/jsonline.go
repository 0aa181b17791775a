package jsonline

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/sesslog/sesslog/core"
)

// Lenient accepts what the agents' own parsers accept: duplicate names (the
// last one counts) and invalid UTF-8 (read as U+FFFD).
var Lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Members reads line as one JSON object, whole, and calls f with the name and
// the raw value of each member in order. Names are decoded, values are not and
// share memory with line. ErrInvalid when line is anything but one JSON object,
// nested at most 10 000 deep.
func Members(line []byte, f func(name string, value jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), Lenient...)
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
		}
		return fmt.Errorf("not a JSON object: %w", core.ErrInvalid)
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
		}
		key := name.String() // before the next read, which reuses the token's memory
		value, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
		}
		f(key, value)
	}
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return fmt.Errorf("more than one JSON value: %w", core.ErrInvalid)
	}
	return nil
}

// Text decodes a raw JSON string, and reports false for any other value.
func Text(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil && len(b) == 0 {
		return "", false
	}
	return string(b), true
}

// Elements calls f with each value of a JSON list, until f fails. ErrInvalid if list is no JSON list.
func Elements(list []byte, f func(jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(list), Lenient...)
	if _, err := d.ReadToken(); err != nil {
		return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not JSON: %s: %w", jsonReason(err), core.ErrInvalid)
		}
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// jsonReason is the decoder's complaint without its package name.
func jsonReason(err error) string {
	if err == io.ErrUnexpectedEOF {
		return "it ends in the middle"
	}
	s, _ := bytes.CutPrefix([]byte(err.Error()), []byte("jsontext: "))
	return fmt.Sprintf("%.160s", s)
}
