package dialect

import (
	"cmp"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/convert"
)

// A Profile is the rules of one version of an agent, to read sessions by. The
// zero Profile has every session read by the rules of its own dialect.
type Profile struct {
	// Name is the dialect's, and behind an @ a version where it is not the
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

// NamedProfile returns the profile called name, the zero Profile for the empty
// name, or core.ErrInvalid naming those there are.
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

// A Session is what a profile reads, and what it reads it as.
type Session struct {
	// ID is the session's in the log, which that of a converted one derives from.
	ID      core.SessionID
	Dialect core.Dialect // by whose rules it is to be read
	Header  core.Header
	Entries []core.Entry
	Leaf    core.Leaf // where it stands
}

// View returns s as one of p's agent, to be read by its Dialect: the same lines
// where p's agent reads those, less what is in no tree, otherwise what
// convert.Convert makes of them. Where s stands at its end, so does what is
// returned. The errors are those of Convert.
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

// reread returns s with each line as p's dialect reads it. What is aside in one
// of the two, such as a title slot, the other's file has not, or not there.
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

// File reads a session file of the dialect d as p's agent itself does, if it
// reads such files at all and does not refuse this one; otherwise as d's does.
// The dialect returned is the one that did; View makes of the rest what p wants.
func (p Profile) File(d core.Dialect, data []byte) (*core.File, core.Dialect, error) {
	if p.Dialect != nil && p.reads(d) {
		if f, err := p.Dialect.File(data); err == nil {
			return f, p.Dialect, nil
		}
	}
	f, err := d.File(data)
	return f, d, err
}
