package operator

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/jsonline"
	"github.com/sesslog/sesslog/core/newid"
)

// Header reads a header line: an object of one of the two header types with a cwd
// that is a string. Its id is optional and a string; without one, Operator makes up an
// id at each start, and Header derives one from the line. Its timestamp is optional
// and a number. The version is optional, and any value is
// accepted. The parent is optional; Operator names it by the file of a session that
// was branched, headers made here name it by its id.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := readEntry(line)
	if err != nil {
		return core.Header{}, err
	}
	return asHeader(e)
}

func asHeader(e core.Entry) (core.Header, error) {
	h := core.Header{Line: e.Line, ID: e.ID, Time: e.Time}
	if !isHeader(e.Type) {
		return h, fmt.Errorf(`it begins with type %q, an Operator header has type "session" or "session_header": %w`, jsonl.Clip(e.Type, 40), core.ErrInvalid)
	}
	o, err := jsonl.Object(e)
	if err != nil {
		return h, err
	}
	cwd, hasCWD := o.Get("cwd").Text()
	h.CWD = cwd
	h.Parent, _ = o.Get("parent_session").Text()
	h.Parents, h.Lineage = filename.Lineage(h.Parent, "fork", "branch")
	if h.ID == "" {
		sum := sha256.Sum256(append([]byte(name+" header\x00"), e.Line...))
		h.ID = newid.UUID([16]byte(sum[:16]))
	}
	switch id := o.Get("id"); {
	case id != nil && !isText(id):
		return h, fmt.Errorf("the id in the header is not a string: %w", core.ErrInvalid)
	case !hasCWD:
		return h, fmt.Errorf("the header has no cwd: %w", core.ErrInvalid)
	case !isTime(o.Get("timestamp")):
		return h, fmt.Errorf("the timestamp in the header is not a number: %w", core.ErrInvalid)
	}
	return h, nil
}

// Entry reads any line as an entry, including those that Check refuses. An id,
// parent_id or type that is not a string counts as absent. Time is a number as
// it is written, or the text of a string.
func (Dialect) Entry(line []byte) (core.Entry, error) { return readEntry(line) }

func readEntry(line []byte) (core.Entry, error) {
	e := core.Entry{Line: line}
	if bytes.IndexByte(line, '\n') >= 0 {
		return e, fmt.Errorf("more than one line: %w", core.ErrInvalid)
	}
	err := jsonline.Members(line, func(name string, v jsontext.Value) {
		switch name {
		case "id":
			e.ID, _ = jsjson.Value(v).Text()
		case "parent_id":
			e.Parent, _ = jsjson.Value(v).Text()
		case "type":
			e.Type, _ = jsjson.Value(v).Text()
		case "timestamp":
			e.Time = timeText(jsjson.Value(v))
		}
	})
	if err != nil {
		return core.Entry{}, err
	}
	return e, nil
}
