package bytestream

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/frame"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
	"github.com/sesslog/sesslog/core/optional"
	"github.com/sesslog/sesslog/core/usage"
)

// A Dialect is the dialect of byte streams. It keeps no state.
type Dialect struct{ frame.Lines }

var (
	_ core.Dialect     = Dialect{}
	_ usage.Reporter   = Dialect{}
	_ optional.Checker = Dialect{}
)

const name = "bytestream"

// Name is "bytestream".
func (Dialect) Name() string { return name }

// Detect reports whether the first line is a header.
func (Dialect) Detect(data []byte) bool {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	_, err := ReadConfig(first)
	return err == nil
}

// File reads a header and the lines after it.
func (d Dialect) File(data []byte) (*core.File, error) {
	return frame.File(d, data, fmt.Sprint(Version))
}

// Header reads a header line.
func (Dialect) Header(line []byte) (core.Header, error) {
	c, err := ReadConfig(line)
	if err != nil {
		return core.Header{}, err
	}
	h := core.Header{Line: line, ID: c.ID, Time: c.Time}
	if c.From != nil && c.From.Session != "" {
		h.Parents, h.Lineage = []string{c.From.Session}, "fork"
	}
	return h, nil
}

// Entry reads any other line.
func (Dialect) Entry(line []byte) (core.Entry, error) {
	l, err := ReadLine(line)
	if err != nil {
		return core.Entry{}, err
	}
	return core.Entry{Line: line, ID: l.ID, Type: l.Type, Time: l.Time, Aside: l.Type != TypeAppend && l.Type != TypeClose}, nil
}

// slack is how much longer the body of an append may be than its length: what replaces a
// redacted body is not of its length, and the offsets of the stream stay.
const slack = 1 << 10

// maxLength bounds the length of an append, above the largest line.
const maxLength = 1 << 30

// Check implements optional.Checker: a line is of a known type, and the body of an append
// is not longer than it says, but for slack.
func (Dialect) Check(line []byte) error {
	l, err := ReadLine(line)
	if err != nil {
		return err
	}
	switch l.Type {
	case TypeClose, TypeTouch, TypeFork, TypeDelete:
		if l.Length > 0 {
			return fmt.Errorf("a line of type %s has no length: %w", l.Type, core.ErrInvalid)
		}
	case TypeAppend:
		if l.Length == 0 || l.Length > maxLength {
			return fmt.Errorf("the length is %d, it must be 1 to %d: %w", l.Length, maxLength, core.ErrInvalid)
		}
	default:
		return fmt.Errorf("type %.40q is not one of a byte stream: %w", l.Type, core.ErrInvalid)
	}
	if l.size() > l.Length+slack {
		return fmt.Errorf("the length is %d, and the body has %d: %w", l.Length, l.size(), core.ErrInvalid)
	}
	return nil
}

// Fill adds id and time at the end of a line that lacks them.
func (d Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := d.Entry(line)
	if err != nil {
		return core.Entry{}, err
	}
	var missing []byte
	if e.ID == "" && f.ID != "" {
		missing = jsonl.AppendMember(missing, "id", f.ID)
	}
	if e.Time == "" && f.Time != "" {
		missing = jsonl.AppendMember(missing, "timestamp", f.Time)
	}
	if len(missing) == 0 {
		return e, nil
	}
	return d.Entry(jsonl.Insert(line, missing))
}

// NewHeader makes the header of a stream of JSON values.
func (Dialect) NewHeader(f core.HeaderFields) []byte {
	return Config{ID: f.ID, Time: f.Time, Path: f.ID, ContentType: ContentJSON}.Line()
}

// NewLabel returns nil: streams have no labels.
func (Dialect) NewLabel(string, string) []byte { return nil }

// NewName returns nil: a stream's name is its path.
func (Dialect) NewName(string) []byte { return nil }

// FileName is the id of the session and ".jsonl".
func (Dialect) FileName(h core.Header) (dir, file string) {
	return "", string(core.SessionIDFor(name, h.ID)) + ".jsonl"
}

// Keeps is true: an empty stream is a stream.
func (Dialect) Keeps([]core.Entry) bool { return true }

var version = json.RawMessage(fmt.Sprint(Version))
