package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// A Windower is a Dialect whose contexts are made of the path to their leaf, and
// need only the end of a long one.
type Windower interface {
	Dialect
	// Window returns which entries of path, which leads to a leaf, are enough for
	// the context there: those from the index from on and, for what is set
	// earlier and still holds, those at the indexes in before, ascending. They
	// are also enough for every path that continues path, or a beginning of it
	// that includes from, as long as Window returns no smaller index for that.
	// ok is false if the context needs the whole path, or refers to an entry
	// before it that path lacks.
	Window(path []Entry) (before []int, from int, ok bool)
}

// A WindowPart is a Window in a Manifest. Its plain bytes are the header's line
// and the lines of the entries. It is always inline.
type WindowPart struct {
	Part
	// Before is how many of the entries are from before those that contexts are
	// made of.
	Before int `json:"before,omitempty"`
}

// A Window is the end of a session: enough for the contexts of its last entries,
// without the entries before.
type Window struct {
	// State is the session's, except that Entries has only those of the window
	// and later ones.
	State  *State
	before int
}

// Window returns the entries that suffice for contexts at the end of main, in
// order. The first before of them are as in WindowPart. ok is false if there
// are no such entries, or if they do not give main's context.
func (s *State) Window() (es []Entry, before int, ok bool) {
	d, ok := s.Dialect.(Windower)
	leaf := s.Leaf(MainHead)
	if _, named := leaf.ID(); !ok || !named {
		return nil, 0, false
	}
	path, err := d.Path(s.Entries, leaf)
	if err != nil || len(path) == 0 || path[0].Parent != "" {
		return nil, 0, false // a later entry may be the missing parent
	}
	earlier, from, ok := d.Window(path)
	if !ok || from == 0 {
		return nil, 0, false
	}
	for _, i := range earlier {
		es = append(es, path[i])
	}
	es = append(es, path[from:]...)
	whole, err := d.Context(s.Entries, leaf)
	if err != nil {
		return nil, 0, false
	}
	part, err := d.Context(linked(es), leaf)
	return es, len(earlier), err == nil && bytes.Equal(whole, part)
}

// linked returns es with each entry as the parent of the next one.
func linked(es []Entry) []Entry {
	es = slices.Clone(es)
	for i := range es {
		es[i].Parent = ""
		if i > 0 {
			es[i].Parent = es[i-1].ID
		}
	}
	return es
}

// RestoreWindow is Restore for the window of m, whose verified plain bytes are
// plain. Returns ErrNotFound if m has none.
func RestoreWindow(m *Manifest, plain []byte, at Pos, dialects Dialects) (*Window, error) {
	if m.Window == nil {
		return nil, fmt.Errorf("snapshot %s has no window: %w", m.Object, ErrNotFound)
	}
	part := *m
	part.Size = m.Window.Size
	s, err := Restore(&part, plain, at, dialects)
	if err != nil {
		return nil, err
	}
	w := &Window{s, m.Window.Before}
	if _, ok := s.Dialect.(Windower); !ok || w.before < 0 || w.before >= len(s.Entries) {
		return nil, fmt.Errorf("window of snapshot %s is none: %w", m.Object, ErrCorrupt)
	}
	s.Entries = linked(s.Entries)
	return w, nil
}

// Accepts reports whether r can be applied to w's state: it replaces and removes
// no entry.
func (w *Window) Accepts(r *Record) bool {
	switch r.Kind {
	case KindAppend, KindHead, KindClaim, KindRelease, KindCheckpoint, KindClose, KindDelete, KindUndelete, KindHold, KindUnhold:
		return true
	}
	return false
}

// Context returns what the dialect's Context returns at leaf for the whole
// session. ok is false if that cannot be told from the window.
func (w *Window) Context(leaf Leaf) (built json.RawMessage, ok bool) {
	s := w.State
	if _, named := leaf.ID(); !named || !w.hasUniqueIDs() {
		return nil, false
	}
	path, err := s.Dialect.Path(s.Entries, leaf)
	if err != nil || len(path) <= w.before || path[w.before].ID != s.Entries[w.before].ID {
		return nil, false // it leaves the session before the window
	}
	if _, from, ok := s.Dialect.(Windower).Window(path); !ok || from < w.before {
		return nil, false
	}
	built, err = s.Dialect.Context(s.Entries, leaf)
	return built, err == nil
}

// hasUniqueIDs reports whether no two entries have the same id. Appends never give
// an id of the session to another line, but the lines of one append may share an id.
func (w *Window) hasUniqueIDs() bool {
	for i := range w.State.Entries {
		if id := w.State.Entries[i].ID; id != "" && w.State.byID[id] != i {
			return false
		}
	}
	return true
}
