package openrath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
)

// readRecord reads a line as one object. OpenRath cannot read invalid UTF-8.
func readRecord(line []byte) (jsjson.Object, error) {
	switch {
	case bytes.IndexByte(line, '\n') >= 0:
		return jsjson.Object{}, fmt.Errorf("more than one line: %w", core.ErrInvalid)
	case !utf8.Valid(line):
		return jsjson.Object{}, fmt.Errorf("invalid JSON: invalid UTF-8: %w", core.ErrInvalid)
	}
	v := bytes.TrimSpace(line)
	if k := jsontext.Value(v).Kind(); k != '{' && jsontext.Value(v).IsValid() {
		return jsjson.Object{}, fmt.Errorf("record must be a JSON object: %w", core.ErrInvalid)
	}
	o, err := jsjson.ParseObject(line)
	if err == nil {
		err = jsonline.Members(line, ignore)
	}
	if err != nil {
		return jsjson.Object{}, fmt.Errorf("invalid JSON: %v: %w", err, core.ErrInvalid)
	}
	return o, nil
}

// ignore is the callback for a call of jsonline.Members that only validates.
func ignore(string, jsontext.Value) {}

// Entry reads a chunk or a trailer. ErrInvalid for any other record: OpenRath
// would not load a session that holds one.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	o, err := readRecord(line)
	if err != nil {
		return core.Entry{}, err
	}
	e := core.Entry{Line: line}
	e.ID, _ = o.Get("id").Text()
	switch kind := o.Get("record_type"); {
	case kind.Is(recordChunk):
		c, err := readChunk(&o)
		if err != nil {
			return core.Entry{}, err
		}
		e.Type = string(c.kind)
		if e.ID == "" {
			e.ID = indexText(o.Get("index"))
		}
	case kind.Is(recordTrailer):
		e.Type, e.Aside = typeTrailer, true
		e.Time, _ = o.Get("closed_at").Text()
	case kind.Is(recordHeader):
		return core.Entry{}, fmt.Errorf("duplicate header record: %w", core.ErrInvalid)
	default:
		return core.Entry{}, fmt.Errorf("unknown record_type=%s: %w", jsonl.Clip(string(kind), 40), core.ErrInvalid)
	}
	return e, nil
}

func readChunk(o *jsjson.Object) (Chunk, error) {
	kind, _ := o.Get("kind").Text()
	if !Kind(kind).known() {
		return Chunk{}, fmt.Errorf("invalid chunk kind %s: %w", jsonl.Clip(string(o.Get("kind")), 40), core.ErrInvalid)
	}
	return NewChunk(Kind(kind), o.Get("payload"))
}

// chunkOf reads an entry as a chunk, and reports false if it is none.
func chunkOf(e core.Entry) (Chunk, bool) {
	if e.Aside {
		return Chunk{}, false
	}
	o, err := jsjson.ParseObject(e.Line)
	if err != nil {
		return Chunk{}, false
	}
	c, err := readChunk(&o)
	return c, err == nil
}

// indexText is an index as text, or empty if it is none.
func indexText(v jsjson.Value) string {
	if n, ok := decimal(string(v)); ok {
		return strconv.Itoa(n)
	}
	return ""
}

// decimal reads a number of at most nine digits without a leading zero.
func decimal(s string) (int, bool) {
	if s == "" || len(s) > 9 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil
}

// rawOf is a copy of v.
func rawOf(v jsjson.Value) json.RawMessage { return json.RawMessage(bytes.Clone(v)) }
