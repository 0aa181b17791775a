package api

import (
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// How bad a finding of an Examination is.
const (
	Note    = report.Note
	Warning = report.Warning
	Danger  = report.Danger
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
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Mended   []Problem `json:"mended,omitempty"` // by a repair
}

// A Problem is one violation of what the log promises.
type Problem = report.Problem

// LogReport is what verify found in the log as a whole.
type LogReport struct {
	Log      string           `json:"log"`
	Sessions []core.SessionID `json:"sessions"` // all that it has records of
	Problems []Problem        `json:"problems"`
}
