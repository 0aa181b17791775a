package api

import (
	"encoding/json"
	"time"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/report"
)

// EraseRequest erases a session permanently.
type EraseRequest struct {
	Notice
	// Now erases a session that is not in the trash, or not for long enough.
	Now bool `json:"now,omitempty"`
	// Damaged erases a session that cannot be read, so that its content is unknown.
	Damaged bool `json:"damaged,omitempty"`
}

// RedactRequest replaces entries permanently.
type RedactRequest struct {
	Notice
	Entries []string `json:"entries"`        // their ids
	With    string   `json:"with,omitempty"` // what stands in the place of what they say
	DryRun  bool     `json:"dryRun,omitempty"`
}

// Redacted is the result of a redaction. For a dry run it has the lines as they
// would be, and nothing was removed.
type Redacted struct {
	report.Redacted
	Lines []json.RawMessage `json:"lines,omitempty"`
	// Wait is, in a dry run, how long the redaction would wait until the brokers have
	// flushed its record.
	Wait time.Duration `json:"wait,omitempty"`
}

// Hold is a session on legal hold.
type Hold struct {
	Session core.SessionID `json:"session"`
	Held    core.Notice    `json:"held"`
}

// Holds is an answer of GET /v1/holds.
type Holds struct {
	Holds []Hold `json:"holds"`
}
