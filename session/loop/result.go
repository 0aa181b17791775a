package loop

import (
	rawjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of texts in results, in characters.
const (
	maxArguments = 2_000
	maxDetail    = 4_000
	maxFile      = 12_000
	maxEntries   = 500
	maxResult    = 48_000
	maxOutput    = 1_000_000
)

const truncated = "...(truncated)"

// cut shortens s to n characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + truncated
		}
		n--
	}
	return s
}

// A Failure is the error of a tool as the model gets it.
type Failure struct {
	Kind    string // a word for programs, such as "io"
	Message string // at most 1,000,000 characters are kept
	Detail  string // at most 4,000
}

func (f *Failure) Error() string { return f.Kind + ": " + f.Message }

// The kinds of errors that the loop itself makes.
const (
	invalidArguments = "invalid_tool_arguments"
	unknownTool      = "unknown_tool"
	toolException    = "tool_execution_exception"
	interrupted      = "interrupted"
	resultTooLarge   = "result_too_large"
)

// A Command is the result of a process. Of each output, the model gets 1,000,000
// characters.
type Command struct {
	ExitCode  int     `json:"exit_code"`
	Stdout    string  `json:"stdout"`
	Stderr    string  `json:"stderr"`
	ElapsedMS float64 `json:"elapsed_ms"`
}

// A File is the content of a file, of which the model gets 12,000 characters.
type File struct {
	Data string `json:"data"`
}

// Entries is the content of a directory, of which the model gets the first 500.
type Entries struct {
	Entries []Entry `json:"entries"`
}

// An Entry is a file in a directory.
type Entry struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	IsDir bool   `json:"is_dir"`
}

// Written is the result of writing a file.
type Written struct {
	Bytes int64 `json:"bytes_written"`
}

// Code is the result of running code. Of each text, the model gets 1,000,000
// characters.
type Code struct {
	Text   string `json:"text"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Error  string `json:"error"`
}

// Text returns what a tool returned as the content of its row: JSON, as OpenRath
// writes it. A bool tells whether the tool succeeded. Any value other than those
// of this package, and pointers to them, is cut at 48,000 characters, and is then no
// JSON any more.
func Text(result any) string {
	switch r := result.(type) {
	case *File, *Entries, *Command, *Written, *Code:
		return Text(reflect.ValueOf(r).Elem().Interface())
	case bool:
		return pythonJSON(map[string]bool{"ok": r})
	case File:
		r.Data = cut(r.Data, maxFile)
		return pythonJSON(r)
	case Entries:
		r.Entries = append([]Entry{}, r.Entries[:min(len(r.Entries), maxEntries)]...)
		return pythonJSON(r)
	case Command:
		r.Stdout, r.Stderr = cut(r.Stdout, maxOutput), cut(r.Stderr, maxOutput)
		return pythonJSON(r)
	case Code:
		r.Text, r.Error = cut(r.Text, maxOutput), cut(r.Error, maxOutput)
		r.Stdout, r.Stderr = cut(r.Stdout, maxOutput), cut(r.Stderr, maxOutput)
		return pythonJSON(r)
	case Written:
		return pythonJSON(r)
	case string:
		result = cut(r, maxResult) // before its text is made
	}
	return cut(pythonJSON(result), maxResult)
}

// ErrorText returns an error of a tool as the content of its row. Errors other than
// a *Failure have the kind tool_execution_exception.
func ErrorText(err error) string {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		name := typeName(err)
		f = &Failure{toolException, name + ": " + err.Error(), name}
	}
	row := struct {
		OK      bool   `json:"ok"`
		Kind    string `json:"error_kind"`
		Message string `json:"message"`
		Detail  string `json:"detail,omitempty"`
	}{false, f.Kind, cut(f.Message, maxOutput), cut(f.Detail, maxDetail)}
	return ascii(pythonJSON(row))
}

// typeName is the name of the type of err, without its package.
func typeName(err error) string {
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}

// asText writes what JSON cannot represent as its text.
var asText = json.JoinMarshalers(
	json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error { return e.WriteToken(jsontext.String(d.String())) }),
	json.MarshalToFunc(func(e *jsontext.Encoder, err error) error { return e.WriteToken(jsontext.String(err.Error())) }),
	json.MarshalToFunc(func(e *jsontext.Encoder, f float64) error {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return e.WriteToken(jsontext.String(fmt.Sprint(f)))
		}
		return errors.ErrUnsupported
	}),
	json.MarshalToFunc(func(e *jsontext.Encoder, raw rawjson.RawMessage) error {
		if len(raw) > 0 && !rawjson.Valid(raw) {
			return e.WriteToken(jsontext.String(string(raw)))
		}
		return errors.ErrUnsupported
	}),
)

// pythonJSON is v as Python's json.dumps writes it, with all characters as they
// are. What JSON cannot represent is its text in quotes, or the name of its type if
// it contains itself.
func pythonJSON(v any) string {
	o := []json.Options{
		json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true),
		jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true), json.WithMarshalers(asText),
	}
	b, err := json.Marshal(v, o...)
	if err != nil {
		text := fmt.Sprintf("%T", v)
		if !isDeep(err) {
			text = fmt.Sprint(v)
		}
		b, _ = json.Marshal(text, o...) // a string never fails
	}
	return string(b)
}

// isDeep reports whether err is about a value below many others: one that contains
// itself, as a rule, of which fmt would have no end.
func isDeep(err error) bool {
	e, ok := errors.AsType[*json.SemanticError](err)
	return ok && strings.Count(string(e.JSONPointer), "/") > 100
}

// ascii replaces the other characters in JSON text by escapes.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
