package session

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/tree"
	"github.com/sesslog/sesslog/core/usage"
)

// ID returns the session's id in the log, also before it is stored.
func (s *Session) ID() core.SessionID { return s.id }

// Dialect returns the session's dialect.
func (s *Session) Dialect() core.Dialect { return s.d }

// Header returns the session's header.
func (s *Session) Header() core.Header {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.header
}

// CWD returns the directory in which the agent works: that of the options, else that
// of the header.
func (s *Session) CWD() string { return cmp.Or(s.o.CWD, s.Header().CWD) }

// Entries returns all entries in order of arrival, without the header. Later writes
// do not change the returned slice.
func (s *Session) Entries() []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clip(s.entries)
}

// Entry returns the entry id, and whether it exists.
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

// Leaf returns the parent of the next entry.
func (s *Session) Leaf() core.Leaf {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.leaf
}

// LeafEntry returns the entry at the leaf; false if the leaf is before all entries.
func (s *Session) LeafEntry() (core.Entry, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if id, ok := s.leaf.ID(); ok {
		return s.entry(id)
	}
	return core.Entry{}, false
}

// Tree returns the entries in the agent's display order.
func (s *Session) Tree() []display.TreeNode {
	es, _ := s.view()
	return s.d.Tree(es)
}

// Children returns the children of the entry id, oldest first; none if it does not
// exist. For the empty id it returns the roots.
func (s *Session) Children(id string) []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return tree.Children(s.d, s.entries, id)
}

// Path returns the entries from the root to leaf; none for core.NoLeaf. The zero
// Leaf means the session's leaf. Path returns core.ErrNotFound if leaf names an entry
// that does not exist.
func (s *Session) Path(leaf core.Leaf) ([]core.Entry, error) {
	es, at := s.at(leaf)
	return s.d.Path(es, at)
}

// Context returns, as JSON, the object that the agent's own context builder returns
// for leaf. The zero Leaf means the session's leaf. Context returns core.ErrNotFound
// if leaf names an entry that does not exist.
func (s *Session) Context(leaf core.Leaf) (json.RawMessage, error) {
	es, at := s.at(leaf)
	return s.d.Context(es, at)
}

// Info returns an overview of the session.
func (s *Session) Info() (display.Info, error) {
	es, leaf := s.view()
	return s.d.Info(s.Header(), es, leaf)
}

// Usage returns what the session used and cost: in all, by model, on the path to
// its leaf, under the name of its head, and by sub-agent. Costs that the agent did
// not write are not estimated; see usage.Prices. It reads all entries.
func (s *Session) Usage() (usage.Report, error) {
	es, leaf := s.view()
	path, err := s.d.Path(es, leaf)
	if err != nil {
		return usage.Report{}, err
	}
	head, _ := s.Head()
	fold := usage.NewFold(s.d, s.Header())
	fold.Add(es...)
	return fold.Report([]usage.Head{{Name: head, Path: path}}, nil), nil
}

// Label returns the label of the entry id; empty if it has none.
func (s *Session) Label(id string) string {
	info, err := s.Info()
	if err != nil {
		return ""
	}
	return info.Labels[id]
}

// Name returns the session's name; empty if it has none.
func (s *Session) Name() string {
	info, err := s.Info()
	if err != nil || info.Name == nil {
		return ""
	}
	return *info.Name
}

// Cursor returns the last record that the Session has read; the zero Cursor if it
// is not in a log.
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

// Head returns the head that the session writes to, and the writer of its claim;
// empty if it has none.
func (s *Session) Head() (head, writer string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.head, s.writer
}

// Unsent returns the entries that the log does not have, in order: those of a lazy
// session that is not stored yet, and those that could not be stored. A session in
// memory has none.
func (s *Session) Unsent() []core.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.entries[len(s.entries)-s.unsent:])
}

// Err returns why entries could not be stored; nil if no attempt failed.
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

// at is view with leaf in place of the session's leaf, unless leaf is zero.
func (s *Session) at(leaf core.Leaf) ([]core.Entry, core.Leaf) {
	es, stands := s.view()
	if leaf.IsDefault() {
		leaf = stands
	}
	return es, leaf
}
