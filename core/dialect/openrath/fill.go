package openrath

import (
	"bytes"
	"strconv"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/internal/jsjson"
)

// Fill adds missing members before the closing brace of line, as far as f gives
// them. A chunk gets its index, which is the number of chunks before it, from
// f.Position, or from f.ID if that is a number; then its id, unless the index
// is the same. It has no parent and no time. A trailer gets closed_at,
// final_chunk_count, the cumulative_usage of f.Header or null, and its id. A member that line
// has stays. No other byte changes, and line itself is not modified.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := d.Entry(line)
	if err != nil {
		return core.Entry{}, err
	}
	o, err := readRecord(line)
	if err != nil {
		return core.Entry{}, err
	}
	var missing []byte
	if e.Aside {
		missing = trailerLacks(&o, f)
	} else {
		missing = chunkLacks(&o, e.ID, f)
	}
	if len(missing) == 0 {
		return e, nil
	}
	end := bytes.LastIndexByte(line, '}') // only white space follows it
	b := append(make([]byte, 0, len(line)+len(missing)), line[:end]...)
	b = append(b, missing...)
	return d.Entry(append(b, line[end:]...))
}

func chunkLacks(o *jsjson.Object, id string, f core.Fields) []byte {
	var b []byte
	index, known := f.Position-1, f.Position > 0
	if n, ok := decimal(f.ID); ok {
		index, known = n, true
	}
	if known && o.Get("index") == nil {
		b = appendMember(b, "index", strconv.AppendInt(nil, int64(index), 10))
		if id == "" {
			id = strconv.Itoa(index)
		}
	}
	if f.ID != "" && o.Get("id") == nil && id != f.ID {
		b = appendMember(b, "id", quoted(f.ID))
	}
	return b
}

func trailerLacks(o *jsjson.Object, f core.Fields) []byte {
	var b []byte
	if f.Time != "" && o.Get("closed_at") == nil {
		b = appendMember(b, "closed_at", quoted(asPython(f.Time)))
	}
	if f.Position > 0 && o.Get("final_chunk_count") == nil {
		b = appendMember(b, "final_chunk_count", strconv.AppendInt(nil, int64(f.Position-1), 10))
	}
	if o.Get("cumulative_usage") == nil {
		made, _ := readHeader(f.Header.Line)
		b = appendMember(b, "cumulative_usage", made.Usage.text())
	}
	if f.ID != "" && o.Get("id") == nil {
		b = appendMember(b, "id", quoted(f.ID))
	}
	return b
}
