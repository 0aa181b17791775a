package api

import (
	"github.com/sesslog/sesslog/core"
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
