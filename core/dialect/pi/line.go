package pi

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Header reads a header line: an object of type "session" whose id is a string.
// pi names one parent, by its file, and does not say whether it copied that
// whole session or a branch: both are a fork.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := jsonl.Entry(line)
	if err != nil {
		return core.Header{}, err
	}
	return asHeader(e)
}

// asHeader reads e, the first entry of a file, as its header.
func asHeader(e core.Entry) (core.Header, error) {
	switch e.Type {
	case typeHeader:
		h, err := jsonl.Header(e)
		h.Parents, h.Lineage = filename.Lineage(h.Parent, "fork", "fork")
		return h, err
	case "title":
		return core.Header{}, fmt.Errorf("it begins with the title slot of an omp session, not with a pi header: %w", core.ErrInvalid)
	}
	return core.Header{}, fmt.Errorf(`it begins with type %q, a pi header has type "session": %w`, jsonl.Clip(e.Type, 40), core.ErrInvalid)
}

// Entry reads any line as an entry. An id, parentId, type or timestamp that is
// no string counts as absent.
func (Dialect) Entry(line []byte) (core.Entry, error) { return jsonl.Entry(line) }

// Fill adds id, parentId and timestamp, in this order, before the closing brace
// of line, unless line has them or f does not give them. A member that line has
// stays, also null. No other byte changes, and line itself is not modified.
func (Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) { return jsonl.Fill(line, f) }
