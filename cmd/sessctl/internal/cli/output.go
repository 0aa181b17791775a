package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Format is a format of results.
type Format string

// The formats of results: for users, and for programs.
const (
	Table Format = "table"
	JSON  Format = "json"
)

// Formats are the values of -o.
var Formats = []string{"table", "wide", "json"}

// outputFlag is -o. wide is a table that is not cut and has more columns.
type outputFlag struct{ a *App }

func (f outputFlag) String() string {
	switch {
	case f.a == nil: // pflag asks a zero value for the default
		return string(Table)
	case f.a.Wide:
		return "wide"
	}
	return string(f.a.Format)
}

func (outputFlag) Type() string { return "format" }

func (f outputFlag) Set(s string) error {
	if !slices.Contains(Formats, s) {
		return fmt.Errorf("%.128q is not one of %s", s, strings.Join(Formats, ", "))
	}
	f.a.Format, f.a.Wide = Table, s == "wide"
	if s == "json" {
		f.a.Format = JSON
	}
	return nil
}

// wanted returns the format that args name, "" if they name none.
func wanted(args []string) (format string) {
	for i, arg := range args {
		switch arg {
		case "--":
			return format
		case "-o", "--output":
			if i+1 < len(args) {
				format = args[i+1]
			}
			continue
		}
		for _, prefix := range []string{"--output=", "-o=", "-o"} {
			if v, ok := strings.CutPrefix(arg, prefix); ok {
				format = v
				break
			}
		}
	}
	return format
}

// Printf prints a line to standard output. The caller makes text of sessions
// plain.
func (a *App) Printf(form string, args ...any) error {
	_, err := fmt.Fprintf(a.Stdout, form+"\n", args...)
	return err
}

// PrintJSON prints v as one line of JSON. RawMessages lose only white space.
func (a *App) PrintJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return a.PrintRaw(withCursor(b.Bytes()))
}

// withCursor adds the member cursor, with the same value, to an object whose member seq is
// a cursor. In other objects seq is a number.
func withCursor(object []byte) []byte {
	if !bytes.Contains(object, []byte(`"seq":"`)) {
		return object
	}
	var v struct{ Seq, Cursor json.RawMessage }
	if json.Unmarshal(object, &v) != nil || v.Cursor != nil || !bytes.HasPrefix(v.Seq, []byte(`"`)) {
		return object
	}
	end := bytes.LastIndexByte(object, '}')
	return slices.Concat(object[:end], []byte(`,"cursor":`), v.Seq, object[end:])
}

// PrintRaw prints lines of JSON unchanged. On a terminal, control characters are
// written as JSON escapes.
func (a *App) PrintRaw(b []byte) error {
	if a.Stdout.TTY {
		b = EscapeJSON(b)
	}
	_, err := a.Stdout.Write(b)
	return err
}

// Print prints v with -o json, and calls text otherwise.
func (a *App) Print(v any, text func() error) error {
	if a.Format == JSON {
		return a.PrintJSON(v)
	}
	return text()
}

// NotNil returns s, or an empty list if it is nil: in JSON [] instead of null.
func NotNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
