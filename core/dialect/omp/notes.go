package omp

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

const (
	typeNotes    = "experimental_context_notes"
	longestNotes = 16384 // in bytes
	noteMark     = "{{notes}}"
	plainNotes   = "<experimental-context-notes>\n" + noteMark + "\n</experimental-context-notes>"
)

// addNotes puts the notebook of path before the messages, unless it is empty:
// the last valid one after the last reset.
func (c *conversation) addNotes(path []core.Entry, around string) error {
	e, notes, err := notesOf(path)
	if err != nil || notes == "" {
		return err
	}
	if around == "" {
		around = plainNotes
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return err
	}
	text := jsonl.Trim(strings.Replace(around, noteMark, notes, 1))
	m, err := custom(jsjson.Value(`"`+typeNotes+`"`), jsjson.AppendString(nil, text), jsjson.Value("false"), nil, nil, o.Get("timestamp"))
	if err != nil {
		return err
	}
	c.turns = slices.Insert(c.turns, 0, newTurn(m))
	return nil
}

// notesOf returns the entry with the current notebook, and its text.
func notesOf(path []core.Entry) (core.Entry, string, error) {
	for _, e := range slices.Backward(path) {
		if e.Type == typeReset {
			break
		}
		if e.Type != "custom" {
			continue
		}
		o, err := jsonl.Object(e)
		if err != nil {
			return e, "", err
		}
		if !o.Get("customType").Is(typeNotes) {
			continue
		}
		if text, ok := readNotes(o.Get("data")); ok {
			return e, text, nil
		}
	}
	return core.Entry{}, "", nil
}

// readNotes reads data as a notebook: version and text, and nothing else.
func readNotes(data jsjson.Value) (string, bool) {
	o, ok := jsonl.Nested(data)
	if !ok {
		return "", false
	}
	known := true
	_ = jsonline.Members(data, func(name string, _ jsontext.Value) {
		known = known && (name == "version" || name == "text")
	})
	v, isNumber := o.Get("version").Number()
	text, isText := o.Get("text").Text()
	return text, known && isNumber && v == 1 && isText && len(text) <= longestNotes
}
