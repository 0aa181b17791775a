package dialect

import (
	"cmp"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
)

// A Profile is the rules of one version of an agent for reading sessions. The
// zero Profile reads every session by the rules of its own dialect.
type Profile struct {
	// Name is the dialect's name, followed by @ and a version unless it is the
	// newest known.
	Name    string
	Dialect core.Dialect
	family  string // shared by the agents that read each other's lines
}

// Profiles returns the names of the profiles there are, in order.
func Profiles() []string {
	names := make([]string, len(table))
	for i, p := range table {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

// NamedProfile returns the profile called name, or the zero Profile for the
// empty name. Returns a core.ErrInvalid that lists the known names if there is
// none.
func NamedProfile(name string) (Profile, error) {
	if name == "" {
		return Profile{}, nil
	}
	for _, p := range table {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, unknown("profile", name, Profiles())
}

// A Session is what a profile reads, and the dialect to read it with.
type Session struct {
	// ID is the session's in the log, which that of a converted one derives from.
	ID      core.SessionID
	Dialect core.Dialect // by whose rules it is to be read
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf // the position of the session
}

// View returns s as a session of p's agent, to be read with its Dialect. If p's
// agent reads lines of s, they stay as they are, without those outside the
// tree; otherwise convert.Convert converts them. If s is at its end, so is the
// result. The errors are those of Convert.
func (p Profile) View(s Session) (Session, error) {
	switch {
	case p.Dialect == nil || p.Name == s.Dialect.Name():
		return s, nil
	case p.reads(s.Dialect):
		return p.reread(s), nil
	}
	res, err := convert.Convert(convert.Request{
		From: s.Dialect, To: p.Dialect, Header: s.Header, Entries: s.Entries, Leaf: s.Leaf,
		ID:   convert.SessionID(string(s.ID), p.Dialect.Name()),
		Time: cmp.Or(s.Dialect.Summary(s.Header, s.Entries).Created, "1970-01-01T00:00:00.000Z"),
	})
	if err != nil {
		return Session{}, err
	}
	return Session{ID: s.ID, Dialect: p.Dialect, Header: res.Header, Entries: res.Entries, Leaf: res.Leaf}, nil
}

// reads reports whether p's agent reads the lines of d.
func (p Profile) reads(d core.Dialect) bool {
	return slices.ContainsFunc(table, func(row Profile) bool {
		return row.Name == d.Name() && row.family == p.family
	})
}

// reread returns s with each line as p's dialect reads it. A line that has no
// place in the tree for one of the two dialects, such as a title slot, is left
// out, or is not in the other's tree.
func (p Profile) reread(s Session) Session {
	if p.Dialect.Name() == s.Dialect.Name() {
		s.Dialect = p.Dialect
		return s
	}
	es := make([]core.Entry, 0, len(s.Entries))
	for _, e := range s.Entries {
		if e.Aside {
			continue
		}
		if e, err := p.Dialect.Entry(e.Line); err == nil && !e.Aside {
			es = append(es, e)
		}
	}
	leaf := s.Leaf
	if leaf == s.Dialect.Leaf(s.Entries) {
		leaf = p.Dialect.Leaf(es)
	}
	return Session{ID: s.ID, Dialect: p.Dialect, Header: s.Header, Entries: es, Leaf: leaf}
}

// File reads a session file of dialect d as p's agent does, if that agent reads
// such files and accepts this one, and otherwise as d does. It returns the
// dialect that read the file; View converts to p from there.
func (p Profile) File(d core.Dialect, data []byte) (*core.File, core.Dialect, error) {
	if p.Dialect != nil && p.reads(d) {
		if f, err := p.Dialect.File(data); err == nil {
			return f, p.Dialect, nil
		}
	}
	f, err := d.File(data)
	return f, d, err
}
