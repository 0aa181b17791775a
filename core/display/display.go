// Package display has what dialects show of a session to people: its description,
// its tree and its row in a listing.
package display

import (
	"cmp"
	"encoding/json"

	"github.com/sesslog/sesslog/core/item"
)

// Info describes a session. Its JSON is the output of `sessctl info -o json`.
type Info struct {
	Header     json.RawMessage   `json:"header"`
	Version    json.RawMessage   `json:"version"`
	SessionID  string            `json:"sessionId"`
	CWD        string            `json:"cwd"`
	EntryCount int               `json:"entryCount"`
	Types      map[string]int    `json:"types"`
	LeafID     *string           `json:"leafId"`
	Name       *string           `json:"name"`
	Labels     map[string]string `json:"labels"`
	// Own holds what only this dialect has: one JSON object, or nil. Its members
	// are described in docs/DIALECTS.md.
	Own json.RawMessage `json:"own,omitempty"`
}

// A TreeNode is one entry in display order: parents before children, children
// oldest first. Depth is 0 for a root.
type TreeNode struct {
	ID             string  `json:"id"`
	Type           string  `json:"type"`
	Depth          int     `json:"depth"`
	Label          *string `json:"label,omitempty"`
	LabelTimestamp *string `json:"labelTimestamp,omitempty"`
}

// A Summary is a session's row in a listing.
type Summary struct {
	Name     string `json:"name,omitempty"`
	First    string `json:"first,omitempty"` // the first user message, cut at 200 characters
	Messages int    `json:"messages"`
	Created  string `json:"created,omitempty"`
	Modified string `json:"modified,omitempty"` // ISO 8601, the last user or assistant message
	// The time of the last entry of any type, if it is after Modified; in rows always.
	Changed string     `json:"changed,omitempty"`
	Usage   item.Usage `json:"usage"`
	// Closed says that the agent ended the session.
	Closed bool `json:"closed,omitempty"`
	// Tags are the agent's own tags. Most agents have none.
	Tags []string `json:"tags,omitempty"`
}

// LastChange returns the time of the session's last change, empty if it is unknown.
func (s *Summary) LastChange() string { return cmp.Or(s.Changed, s.Modified, s.Created) }
