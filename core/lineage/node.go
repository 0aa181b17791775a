package lineage

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/item"
)

// A Node is one session in a Graph.
type Node struct {
	ID      core.SessionID `json:"id"`
	AgentID string         `json:"agentId,omitempty"` // the agent's own id, if it differs
	Dialect string         `json:"dialect,omitempty"`
	Stamp
	Name    string `json:"name,omitempty"`
	Created string `json:"created,omitempty"` // ISO 8601
	Entries int    `json:"entries"`           // entries that have a place in the conversation
	Usage   *Usage `json:"usage,omitempty"`   // nil if nothing was counted
	State   State  `json:"state,omitempty"`
}

// A State is why a Node may not be read.
type State string

// The zero State is that of a session that can be read.
const (
	Missing State = "missing" // a session names it, but the log does not have it
	Deleted State = "deleted" // it is in the trash
	Erased  State = "erased"
)

// Usage counts tokens as OpenRath does.
type Usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// UsageOf converts u to OpenRath's terms, in which cache reads and writes are
// part of the prompt. Returns nil if u counts nothing.
func UsageOf(u item.Usage) *Usage {
	prompt := u.Input + u.CacheRead + u.CacheWrite
	if prompt == 0 && u.Output == 0 {
		return nil
	}
	return &Usage{prompt, u.Output, prompt + u.Output}
}
