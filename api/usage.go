package api

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
	"github.com/sesslog/sesslog/core/usage"
)

// SessionUsage is an answer of GET /v1/sessions/{id}/usage: what a session used, or with
// ?leaf= or ?head= one path of it.
type SessionUsage struct {
	Session core.SessionID `json:"session"`
	Cursor  core.Cursor    `json:"cursor"`
	usage.Report
	// More counts heads that are left out of Heads.
	More int `json:"more,omitempty"`
	// Subagents are the sessions of sub-agents that this one started, and of
	// those that they started. Their usage is not part of the sums.
	Subagents []SubagentUsage `json:"subagents,omitempty"`
}

// SubagentUsage is what the session of a sub-agent used.
type SubagentUsage struct {
	Session core.SessionID `json:"session"`
	Name    string         `json:"name,omitempty"`
	item.Usage
}
