package operator

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Fill adds id, timestamp and parent_id, in this order and as far as f gives
// and line lacks them, in front of the brace that closes line. The time is
// ISO 8601 and becomes a number; a number stays as it is. A root gets a
// parent_id of null, which says what Operator says by leaving it out. A member
// that is there stays, also null. No other byte changes; line itself never
// does. ErrInvalid also for a time that is neither.
func (Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := readEntry(line)
	if err != nil {
		return core.Entry{}, err
	}
	missing, err := lacks(line, f)
	if err != nil {
		return core.Entry{}, err
	}
	if len(missing) == 0 {
		return e, nil
	}
	end := bytes.LastIndexByte(line, '}') // only white space is behind it
	b := append(make([]byte, 0, len(line)+len(missing)), line[:end]...)
	if bytes.HasSuffix(bytes.TrimRight(b, " \t\r"), []byte("{")) {
		missing = missing[1:] // an empty object needs no comma
	}
	b = append(b, missing...)
	return readEntry(append(b, line[end:]...))
}

// lacks returns the members to add to line, each behind a comma.
func lacks(line []byte, f core.Fields) ([]byte, error) {
	var id, parent, timestamp bool
	_ = core.Members(line, func(name string, _ jsontext.Value) {
		id = id || name == "id"
		parent = parent || name == "parent_id"
		timestamp = timestamp || name == "timestamp"
	})
	var b []byte
	if !id && f.ID != "" {
		b = jsjson.AppendString(append(b, `,"id":`...), f.ID)
	}
	if !timestamp && f.Time != "" {
		n, ok := number(f.Time)
		if !ok {
			return nil, fmt.Errorf("time %q is neither ISO 8601 nor a number: %w", clip(f.Time, 40), core.ErrInvalid)
		}
		b = append(append(b, `,"timestamp":`...), n...)
	}
	if p, ok := f.Parent.ID(); !parent && ok {
		b = jsjson.AppendString(append(b, `,"parent_id":`...), p)
	} else if !parent && f.Parent.IsNone() {
		b = append(b, `,"parent_id":null`...)
	}
	return b, nil
}
