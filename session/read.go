package session

import (
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
)

// ID is the session's name in the log, or what it would be.
func (s *Session) ID() core.SessionID { return s.id }

// Dialect is the agent's whose session it is.
func (s *Session) Dialect() core.Dialect { return s.d }

// Header returns the session's header.
func (s *Session) Header() core.Header {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.header
}

// Entries returns all entries in the order in which they came, the header left
// out. Nothing is ever taken out of them by a later write.
func (s *Session) Entries() []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.entries)
}

// Entry returns the entry called id, and whether there is one.
func (s *Session) Entry(id string) (core.Entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.entry(id)
}

func (s *Session) entry(id string) (core.Entry, bool) {
	i, ok := s.byID[id]
	if !ok {
		return core.Entry{}, false
	}
	return s.entries[i], true
}

// Leaf is where the session stands: what the next entry hangs on.
func (s *Session) Leaf() core.Leaf {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.leaf
}

// LeafEntry returns the entry that the session stands at; false where it stands
// before all of them.
func (s *Session) LeafEntry() (core.Entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id, ok := s.leaf.ID(); ok {
		return s.entry(id)
	}
	return core.Entry{}, false
}

// Tree returns the entries in the order in which the agent shows them.
func (s *Session) Tree() []core.TreeNode {
	es, _ := s.view()
	return s.d.Tree(es)
}

// Children returns the entries that hang on the one called id, oldest first;
// none for an id that is not there. For the empty id they are the roots.
func (s *Session) Children(id string) []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return core.Children(s.d, s.entries, id)
}

// Path returns the entries from the root to leaf, none for core.NoLeaf. The
// default leaf is where the session stands. core.ErrNotFound when leaf names an
// entry that is not there.
func (s *Session) Path(leaf core.Leaf) ([]core.Entry, error) {
	es, at := s.at(leaf)
	return s.d.Path(es, at)
}

// Context returns the object that the agent's own context builder returns for a
// session that stands at leaf, as JSON. The default leaf is where the session
// stands. core.ErrNotFound when leaf names an entry that is not there.
func (s *Session) Context(leaf core.Leaf) (json.RawMessage, error) {
	es, at := s.at(leaf)
	return s.d.Context(es, at)
}

// Info returns the session at a glance.
func (s *Session) Info() (core.Info, error) {
	es, leaf := s.view()
	return s.d.Info(s.Header(), es, leaf)
}

// Label returns the label of the entry called id, empty where it has none.
func (s *Session) Label(id string) string {
	info, err := s.Info()
	if err != nil {
		return ""
	}
	return info.Labels[id]
}

// Name returns the session's name, empty where it has none.
func (s *Session) Name() string {
	info, err := s.Info()
	if err != nil || info.Name == nil {
		return ""
	}
	return *info.Name
}

// Cursor is up to where the Session has taken in the log; the zero Cursor for
// one that is in no log.
func (s *Session) Cursor() core.Cursor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.seen
}

// Saved reports whether the session is in the log.
func (s *Session) Saved() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.saved
}

// Head is the head that the session writes to, and writer the claim that it
// speaks from, empty for none.
func (s *Session) Head() (head, writer string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.head, s.writer
}

// Unsent returns the entries that the log does not have, in order: those of a
// lazy session that is not kept yet, and those that could not be stored. A
// session in memory has none.
func (s *Session) Unsent() []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.entries[len(s.entries)-s.unsent:])
}

// Err returns why entries could not be stored, nil where all were or none were
// tried.
func (s *Session) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.err
}

func (s *Session) view() ([]core.Entry, core.Leaf) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.entries), s.leaf
}

// at is view, with another leaf where one is named.
func (s *Session) at(leaf core.Leaf) ([]core.Entry, core.Leaf) {
	es, stands := s.view()
	if leaf.IsDefault() {
		leaf = stands
	}
	return es, leaf
}
