package api

import (
	"github.com/sesslog/sesslog/core/lineage"
)

// Lineage is an answer of GET /v1/lineage: sessions, oldest first, and the edges
// between them. Parents that are not in the log come last, as missing.
type Lineage struct {
	Sessions []lineage.Node `json:"sessions"`
	Edges    []lineage.Edge `json:"edges"`
	// Problem describes an error of the graph, if there is one: a missing parent or a
	// cycle.
	Problem string `json:"problem,omitempty"`
}

// A ParentRef names a parent of a new session.
type ParentRef struct {
	Session string `json:"session"`
	Kind    string `json:"kind,omitempty"`  // default "create"
	Entry   string `json:"entry,omitempty"` // the entry it was left at
}

// MergeRequest creates a session from this session, followed by another.
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
	// little or nothing of the first. Merged in the other order it shows both.
	Hidden bool `json:"hidden,omitempty"`
}

// ForkRequest creates a session that begins as a path of this one.
type ForkRequest struct {
	At    string `json:"at,omitempty"`    // default where main stands; "null" for before all entries
	Whole bool   `json:"whole,omitempty"` // all entries rather than a path
	// Branched includes the labels of the path, wherever they were set.
	Branched bool   `json:"branched,omitempty"`
	ID       string `json:"id,omitempty"`
	CWD      string `json:"cwd,omitempty"`
	By       string `json:"by,omitempty"`
	Key      string `json:"-"` // as in Create
	// Kind is the relation of the new session to this one: "fork", the default;
	// "branch", the default if Branched is set; or "detach", which records no parent.
	Kind string `json:"kind,omitempty"`
}
