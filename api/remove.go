package api

import (
	"encoding/json"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// Receipt says what was erased, and what remains.
type Receipt = report.Receipt

// EraseRequest asks for the end of a session.
type EraseRequest struct {
	Notice
	// Now erases a session that is not in the trash, or not for long enough.
	Now bool `json:"now,omitempty"`
	// Damaged erases a session that cannot be read, so that nobody can tell what it
	// holds.
	Damaged bool `json:"damaged,omitempty"`
}

// RedactRequest asks for entries to be replaced for good.
type RedactRequest struct {
	Notice
	Entries []string `json:"entries"`        // their ids
	With    string   `json:"with,omitempty"` // what stands in the place of what they say
	DryRun  bool     `json:"dryRun,omitempty"`
}

// Redacted says what was redacted. Of a dry run it has the lines as they would
// be, and nothing was removed.
type Redacted struct {
	report.Redacted
	Lines []json.RawMessage `json:"lines,omitempty"`
	// Wait is, in a dry run, how long the redaction waits until the brokers have
	// flushed what says so.
	Wait time.Duration `json:"wait,omitempty"`
}

// Hold is a session that is held.
type Hold struct {
	Session core.SessionID `json:"session"`
	Held    core.Notice    `json:"held"`
}

// Holds is an answer of GET /v1/holds.
type Holds struct {
	Holds []Hold `json:"holds"`
}
