package omp

import (
	"bytes"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

// SameHeader reports whether two lines are the header of one session, except
// for what omp changes when it rewrites the file: the title, which then is that
// of the slot, and directories and files added to the session.
func (Dialect) SameHeader(a, b []byte) bool {
	x, err := lasting(a)
	if err != nil {
		return false
	}
	y, err := lasting(b)
	return err == nil && bytes.Equal(x, y)
}

// lasting is what omp does not change in a header.
func lasting(line []byte) ([]byte, error) {
	o, err := jsonl.Object(core.Entry{Line: line})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"title", "titleSource", "additionalDirectories", "previousSessionFiles"} {
		o.Delete(name)
	}
	return jsonl.Build(&o)
}
