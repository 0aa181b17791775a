package api

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/edits"
)

// Diff is an answer of GET /v1/sessions/{id}/diff: what two paths have after their
// common beginning.
type Diff struct {
	Common int      `json:"common"`       // entries that are the same
	At     string   `json:"at,omitempty"` // the last of them
	A      DiffSide `json:"a"`            // of the session in the path
	B      DiffSide `json:"b"`
}

// A DiffSide is one of two paths that are compared.
type DiffSide struct {
	Session core.SessionID    `json:"session"`
	Total   int               `json:"total"`   // entries after the common ones
	Entries []json.RawMessage `json:"entries"` // the first of them, up to the limit
}

// Edits is an answer of GET /v1/sessions/{id}/edits: what the tools of a session change
// in files. It has a limited number of edits; the others follow with ?from=.
type Edits struct {
	Session core.SessionID   `json:"session"`
	Edits   []edits.FileEdit `json:"edits"`
	Total   int              `json:"total"` // of the path
}
