package api

import (
	"encoding/json"

	"github.com/sesslog/sesslog/core"
)

// State is the first line of an answer of GET /v1/sessions/{id}/state. The
// header's line and the entries' lines follow it.
type State struct {
	Session core.SessionID       `json:"session"`
	Dialect string               `json:"dialect"`
	Cursor  core.Cursor          `json:"cursor"`
	Heads   map[string]core.Leaf `json:"heads"`
	Covered uint64               `json:"covered"` // seq that the latest snapshot covers, 0 for none
	// Claims of the heads that are claimed.
	Claims map[string]core.Claim `json:"claims,omitempty"`
	// Deleted is set while the session is in the trash.
	Deleted *core.Notice `json:"deleted,omitempty"`
}

// BranchRequest makes a head go on from another place.
type BranchRequest struct {
	At core.Leaf `json:"at"` // an entry, or before all of them
	// Summary of the branch that is left, where there is to be one, and what
	// the agent adds to it, one JSON value.
	Summary string          `json:"summary,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// ReactionRequest adds a reaction to a message that came through a channel.
type ReactionRequest struct {
	Message string `json:"message"` // as the channel calls it
	Emoji   string `json:"emoji"`
}

// Amended says where an amendment is.
type Amended struct {
	Cursor core.Cursor `json:"seq"`
}
