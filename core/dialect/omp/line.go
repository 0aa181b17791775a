package omp

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/filename"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// Header reads a header line: an object of type "session" whose id is a
// string. omp names one parent: by its id in a fork, by its file in a branched
// session.
func (Dialect) Header(line []byte) (core.Header, error) {
	e, err := jsonl.Entry(line)
	if err != nil {
		return core.Header{}, err
	}
	return asHeader(e)
}

// asHeader reads e, the first entry of a file, as its header.
func asHeader(e core.Entry) (core.Header, error) {
	if e.Type != typeHeader {
		return core.Header{}, fmt.Errorf(`it begins with type %q, an omp header has type "session": %w`, jsonl.Clip(e.Type, 40), core.ErrInvalid)
	}
	h, err := jsonl.Header(e)
	h.Parents, h.Lineage = filename.Lineage(h.Parent, "fork", "branch")
	return h, err
}

// Entry reads any line as an entry, including a title slot. An id, parentId,
// type or timestamp that is not a string counts as absent.
func (Dialect) Entry(line []byte) (core.Entry, error) { return readEntry(line) }

func readEntry(line []byte) (core.Entry, error) {
	e, err := jsonl.Entry(line)
	if err != nil {
		return e, err
	}
	return placed(e), nil
}

// placed returns e, with Aside set if it is a title slot.
func placed(e core.Entry) core.Entry {
	if e.Type == typeSlot && e.ID == "" {
		_, e.Aside = readSlot(e)
	}
	return e
}

// TidyEntry implements core.TidyDecoder.
func (Dialect) TidyEntry(line []byte) core.Entry { return placed(jsonl.TidyEntry(line)) }

// Fill adds id, parentId and timestamp, in this order, before the closing brace
// of line, unless line has them or f does not give them. A title slot stays as
// it is, because it is not part of the tree.
func (Dialect) Fill(line []byte, f core.Fields) (core.Entry, error) {
	e, err := readEntry(line)
	if err != nil || e.Aside {
		return e, err
	}
	return jsonl.Fill(line, f)
}
