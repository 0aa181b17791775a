package api

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// Rebuilt is what a node derives from the log and can derive again.
type Rebuilt struct {
	Node     string `json:"node"`
	Sessions int    `json:"sessions"` // rows
	Shards   int    `json:"shards"`   // that are read from their beginning
	Messages uint64 `json:"messages"` // in them
	Done     bool   `json:"done"`     // false where it was only asked
}

// Report is what verify found in a session.
type Report struct {
	report.Verification
	Snapshot *Snapshot        `json:"snapshot,omitempty"`
	Repaired []report.Problem `json:"repaired,omitempty"` // by a repair
}

// LogReport is what verify found in the log as a whole.
type LogReport struct {
	Log      string           `json:"log"`
	Sessions []core.SessionID `json:"sessions"` // all that it has records of
	Problems []report.Problem `json:"problems"`
}
