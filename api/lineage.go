package api

import (
	"github.com/sesslog/sesslog/core/lineage"
)

// Lineage is an answer of GET /v1/lineage: sessions, the oldest first, and
// which came from which. A parent that is not in the log is among the sessions,
// as missing, behind the others.
type Lineage struct {
	Sessions []lineage.Node `json:"sessions"`
	Edges    []lineage.Edge `json:"edges"`
	// Problem says what is wrong with the graph, if anything is: a parent that is
	// missing, or sessions that came from each other.
	Problem string `json:"problem,omitempty"`
}

// A ParentRef names a session that another is to come from.
type ParentRef struct {
	Session string `json:"session"`
	Kind    string `json:"kind,omitempty"`  // default "create"
	Entry   string `json:"entry,omitempty"` // the entry it was left at
}

// MergeRequest asks for a new session that is this one, then another.
type MergeRequest struct {
	With     string `json:"with"`               // the other session
	Head     string `json:"head,omitempty"`     // whose path of this session is taken; default main
	WithHead string `json:"withHead,omitempty"` // and of the other
	ID       string `json:"id,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	By       string `json:"by,omitempty"`
	Key      string `json:"-"` // as in Create
}

// Merged names a session that was made of two.
type Merged struct {
	Created
	// Hidden says that the second session was compacted: its agent shows a model
	// little or nothing of the first. Merged the other way round it shows both.
	Hidden bool `json:"hidden,omitempty"`
}

// ForkRequest asks for a new session that begins as a path of this one.
type ForkRequest struct {
	At    string `json:"at,omitempty"`    // default where main stands; "null" for before all entries
	Whole bool   `json:"whole,omitempty"` // all entries rather than a path
	// Branched has the labels of the path come along, wherever they were given.
	Branched bool   `json:"branched,omitempty"`
	ID       string `json:"id,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	By       string `json:"by,omitempty"`
	Key      string `json:"-"` // as in Create
	// Kind is how the new session tells of this one: "fork", the default but for
	// a branched one, "branch", or "detach", which does not name it.
	Kind string `json:"kind,omitempty"`
}
