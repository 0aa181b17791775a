package optional

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Deriver is a core.Dialect whose sessions say in their own words how they came
// from others.
type Deriver interface {
	// Derive makes the header line of a session that came from others, in the
	// way kind (a word of package lineage), and returns es, its first entries,
	// as the agent would write them into it. f.Parent is ignored. Returns
	// core.ErrInvalid if the agent refuses to make such a session. Without from, kind
	// is the agent's own word for a session that came from no other.
	Derive(f core.HeaderFields, kind string, from []Source, es []core.Entry) ([]byte, []core.Entry, error)
}

// A Source is a session that another came from.
type Source struct {
	Header  core.Header
	Entries []core.Entry
}

// Derive returns the header and the entries of a session of d that came from
// others, in that order. If d is not a Deriver, the header names f.Parent, the
// entries are es, and a kind without from is core.ErrInvalid.
func Derive(d core.Dialect, f core.HeaderFields, kind string, from []Source, es []core.Entry) (core.Header, []core.Entry, error) {
	line := []byte(nil)
	v, ok := d.(Deriver)
	switch {
	case ok && len(from)+len(kind) > 0:
		var err error
		if line, es, err = v.Derive(f, kind, from, es); err != nil {
			return core.Header{}, nil, err
		}
	case kind != "" && len(from) == 0:
		return core.Header{}, nil, fmt.Errorf("kind %.64q: a session of %s without parents has no kind: %w", kind, d.Name(), core.ErrInvalid)
	default:
		line = d.NewHeader(f)
	}
	h, err := NewHeader(d, line)
	return h, es, err
}
