package optional

import "github.com/sesslog/sesslog/core"

// A Deriver is a core.Dialect whose sessions say in their own words how they came
// from others.
type Deriver interface {
	// Derive makes the header line of a session that came from others, in the
	// way kind (a word of package lineage), and returns es, its first entries,
	// as the agent would write them into it. f.Parent is ignored. Returns
	// core.ErrInvalid if the agent refuses to make such a session.
	Derive(f core.HeaderFields, kind string, from []Source, es []core.Entry) ([]byte, []core.Entry, error)
}

// A Source is a session that another came from.
type Source struct {
	Header  core.Header
	Entries []core.Entry
}

// Derive returns the header and the entries of a session of d that came from
// others, in that order. If d is not a Deriver, the header names f.Parent, and
// the entries are es.
func Derive(d core.Dialect, f core.HeaderFields, kind string, from []Source, es []core.Entry) (core.Header, []core.Entry, error) {
	line := []byte(nil)
	if v, ok := d.(Deriver); ok && len(from) > 0 {
		var err error
		if line, es, err = v.Derive(f, kind, from, es); err != nil {
			return core.Header{}, nil, err
		}
	} else {
		line = d.NewHeader(f)
	}
	h, err := d.Header(line)
	return h, es, err
}
