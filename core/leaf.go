package core

import "encoding/json"

// A Leaf is the position in the tree where reading ends. The zero Leaf leaves
// the choice to the dialect; for most agents that is the last entry of the
// file.
type Leaf struct {
	id   string
	kind leafKind
}

type leafKind uint8

const (
	leafDefault leafKind = iota
	leafNone
	leafEntry
)

// NoLeaf is before every entry: an empty context, and the next entry a root.
var NoLeaf = Leaf{kind: leafNone}

// LeafAt is the entry called id.
func LeafAt(id string) Leaf { return Leaf{id: id, kind: leafEntry} }

// IsDefault reports whether the dialect chooses.
func (l Leaf) IsDefault() bool { return l.kind == leafDefault }

// IsNone reports whether l is before every entry.
func (l Leaf) IsNone() bool { return l.kind == leafNone }

// ID returns the entry, and whether l names one.
func (l Leaf) ID() (string, bool) { return l.id, l.kind == leafEntry }

type leafJSON struct {
	ID   *string `json:"id,omitempty"`
	None bool    `json:"none,omitempty"`
}

// MarshalJSON returns {} for the default leaf, {"none":true} or {"id":"…"}.
func (l Leaf) MarshalJSON() ([]byte, error) {
	j := leafJSON{None: l.IsNone()}
	if id, ok := l.ID(); ok {
		j.ID = &id
	}
	return json.Marshal(j)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (l *Leaf) UnmarshalJSON(b []byte) error {
	var j leafJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	switch {
	case j.None:
		*l = NoLeaf
	case j.ID != nil:
		*l = LeafAt(*j.ID)
	default:
		*l = Leaf{}
	}
	return nil
}
