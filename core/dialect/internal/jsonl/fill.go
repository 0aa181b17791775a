package jsonl

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Fill adds id, parentId and timestamp, in this order and as far as f gives
// and line lacks them, in front of the brace that closes line. A member that
// is there stays, also null. No other byte changes; line itself never does.
func Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := Entry(line)
	if err != nil {
		return core.Entry{}, err
	}
	missing := lacks(line, f)
	if len(missing) == 0 {
		return e, nil
	}
	end := bytes.LastIndexByte(line, '}') // only white space is behind it
	b := append(make([]byte, 0, len(line)+len(missing)), line[:end]...)
	if bytes.HasSuffix(bytes.TrimRight(b, " \t\r"), []byte("{")) {
		missing = missing[1:] // an empty object needs no comma
	}
	b = append(b, missing...)
	return Entry(append(b, line[end:]...))
}

// lacks returns the members to add to line, each behind a comma.
func lacks(line []byte, f core.Fields) []byte {
	var id, parent, timestamp bool
	_ = core.Members(line, func(name string, _ jsontext.Value) {
		id = id || name == "id"
		parent = parent || name == "parentId"
		timestamp = timestamp || name == "timestamp"
	})
	var b []byte
	if !id && f.ID != "" {
		b = jsjson.AppendString(append(b, `,"id":`...), f.ID)
	}
	if p, ok := f.Parent.ID(); !parent && ok {
		b = jsjson.AppendString(append(b, `,"parentId":`...), p)
	} else if !parent && f.Parent.IsNone() {
		b = append(b, `,"parentId":null`...)
	}
	if !timestamp && f.Time != "" {
		b = jsjson.AppendString(append(b, `,"timestamp":`...), f.Time)
	}
	return b
}
