package catalog

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/core/lineage"
)

// Row is one session in a listing.
type Row struct {
	ID       core.SessionID `json:"id"`
	ShortID  string         `json:"shortId,omitempty"` // only in listings: the shortest beginning of ID that is unique
	AgentID  string         `json:"agentId,omitempty"` // the agent's own id, if it differs
	Dialect  string         `json:"dialect"`
	CWD      string         `json:"cwd"`
	Entries  int            `json:"entries"`
	Seq      uint64         `json:"seq"`          // records
	By       string         `json:"by,omitempty"` // who stored it first
	Holder   *core.Claim    `json:"holder,omitempty"`
	Heads    []string       `json:"heads,omitempty"` // beside main, the first by name
	Waits    string         `json:"waits,omitempty"` // the answer after which the agent waits for its user
	Closed   bool           `json:"closed,omitempty"`
	Deleted  bool           `json:"deleted,omitempty"` // in the trash, or erased
	Erased   bool           `json:"erased,omitempty"`
	Held     *core.Notice   `json:"held,omitempty"`     // who holds it and why
	Snapshot uint64         `json:"snapshot,omitempty"` // seq of the latest checkpoint's snapshot
	Kept     uint64         `json:"kept,omitempty"`     // seq in that snapshot's name: lower if it has the lines of an earlier one, or rests on one
	Changes  []uint64       `json:"changes,omitempty"`  // seqs in the names of its changes, if it has several parts
	Aside    int            `json:"aside,omitempty"`    // entries outside of the conversation
	Size     int64          `json:"size,omitempty"`     // bytes of its lines
	Lineage  lineage.Stamp  `json:"lineage,omitzero"`   // where the session came from
	display.Summary
}
