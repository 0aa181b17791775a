package api

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
)

// Heads is an answer of GET /v1/sessions/{id}/heads: main first, the others by
// name.
type Heads struct {
	Session core.SessionID `json:"session"`
	Cursor  core.Cursor    `json:"cursor"`
	Heads   []HeadInfo     `json:"heads"`
	More    int            `json:"more,omitempty"` // heads that are left out
}

// HeadInfo is a head: where it stands, who holds it, and how far it is from
// main.
type HeadInfo struct {
	Head  string      `json:"head"`
	Leaf  core.Leaf   `json:"leaf"`
	Seq   uint64      `json:"seq"`             // of the record that last moved it
	Entry *HeadEntry  `json:"entry,omitempty"` // where it stands; absent before all entries
	Claim *core.Claim `json:"claim,omitempty"`
	Life  *Life       `json:"life,omitempty"` // of who has the claim
	// Fork is the last entry that it shares with main; Ahead and Behind are how
	// many entries each has from there on. Of main itself all three are zero.
	Fork   string `json:"fork,omitempty"`
	Ahead  int    `json:"ahead"`
	Behind int    `json:"behind"`
}

// HeadEntry is the entry that a head stands at.
type HeadEntry struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // the beginning of what it says
}

// What to do where another writer came first, see package session.
const (
	Fail   = session.Fail
	Rebase = session.Rebase
	Branch = session.Branch
)

// ParseOnConflict reads what to do where another writer came first.
func ParseOnConflict(s string) (session.OnConflict, error) { return session.ParseOnConflict(s) }

// A Life is what is known of whether a claim's holder is there.
type Life = session.Life

// What is known of a holder, see package session.
const (
	LifeAlive  = session.LifeAlive
	LifeSilent = session.LifeSilent
	LifeNew    = session.LifeNew
)

// BranchRequest makes a head go on from another place.
type BranchRequest struct {
	At core.Leaf `json:"at"` // an entry, or before all of them
	// Summary of the branch that is left, where there is to be one, and what
	// the agent adds to it, one JSON value.
	Summary string          `json:"summary,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// MoveRequest makes a head stand at an entry, or before all of them.
type MoveRequest struct {
	Leaf core.Leaf `json:"leaf"`
	// Note says who moves it and why. With a note there is a record also where
	// the head stands there already.
	Note *Notice `json:"note,omitempty"`
	// After is a cursor, sent as If-Match: the head must not have moved since.
	After string `json:"-"`
}

// ClaimRequest asks for a head.
type ClaimRequest = core.ClaimRequest

// Claimed is a claim that was granted, and the one that it ended.
type Claimed struct {
	core.Claim
	Head   string      `json:"head"`
	Former *core.Claim `json:"former,omitempty"`
}
