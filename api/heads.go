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

// HeadInfo is a head: its leaf, its claim, and its distance from main.
type HeadInfo struct {
	Head  string        `json:"head"`
	Leaf  core.Leaf     `json:"leaf"`
	Seq   uint64        `json:"seq"`             // of the record that last moved it
	Entry *HeadEntry    `json:"entry,omitempty"` // where it stands; absent before all entries
	Claim *core.Claim   `json:"claim,omitempty"`
	Life  *session.Life `json:"life,omitempty"` // of who has the claim
	// Fork is the last entry that the head shares with main. Ahead and Behind are how
	// many entries each has after it. For main itself all three are zero.
	Fork   string `json:"fork,omitempty"`
	Ahead  int    `json:"ahead"`
	Behind int    `json:"behind"`
}

// HeadEntry is a preview of the entry that a head points to.
type HeadEntry struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Text string `json:"text,omitempty"` // the beginning of what it says
}

// ParseOnConflict reads what to do where another writer came first.
func ParseOnConflict(s string) (session.OnConflict, error) { return session.ParseOnConflict(s) }

// BranchRequest moves a head to another entry, to continue from there.
type BranchRequest struct {
	At core.Leaf `json:"at"` // an entry, or before all of them
	// Summary describes the branch that the head leaves. Details is what the agent
	// adds to it, one JSON value, and requires a Summary. Both are optional.
	Summary string          `json:"summary,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// MoveRequest moves a head to an entry, or before all entries.
type MoveRequest struct {
	Leaf core.Leaf `json:"leaf"`
	// Note says who moves the head and why. With a note, a record is written even if
	// the head is already there.
	Note *Notice `json:"note,omitempty"`
	// After is a cursor, sent as If-Match: the move fails if the head moved since.
	After string `json:"-"`
}

// Claimed is a granted claim, and the one that it ended.
type Claimed struct {
	core.Claim
	Head   string      `json:"head"`
	Former *core.Claim `json:"former,omitempty"`
}
