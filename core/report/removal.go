package report

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Found describes what Erase would remove of a session.
type Found struct {
	Session   core.SessionID `json:"session"`
	Dialect   string         `json:"dialect,omitempty"`
	Cursor    core.Cursor    `json:"cursor"`          // of its last record
	SHA256    core.Digest    `json:"sha256,omitzero"` // of its canonical JSONL
	Bytes     int64          `json:"bytes"`           // of the same
	Entries   int            `json:"entries"`
	Records   int            `json:"records"` // that the log still has
	Snapshots []string       `json:"snapshots"`
	Blobs     int            `json:"blobs"`             // that its lines name
	Forks     []string       `json:"forks"`             // sessions derived from it, which may have its lines
	Deleted   *core.Notice   `json:"deleted,omitempty"` // when it was moved to the trash
	Held      *core.Notice   `json:"held,omitempty"`
	Erased    *core.Notice   `json:"erased,omitempty"` // it was erased before, perhaps incompletely
	// Damaged is why the session cannot be read. Its content is unknown then, and
	// it is erased only on request.
	Damaged string `json:"damaged,omitempty"`
	// Due is when its time in the trash ends, zero if it is not in the trash.
	Due time.Time `json:"due,omitzero"`
	// Wait is how long an erasure waits until the brokers have flushed its record,
	// at most twice their interval.
	Wait time.Duration `json:"wait,omitempty"`
}

// A Receipt says what was removed, and what remains.
type Receipt struct {
	Found
	Log     string   `json:"log"`
	Removed Removed  `json:"removed"`
	Remains []string `json:"remains"`
}

// Removed counts what one call removed, without what an earlier one had removed.
type Removed struct {
	Records   uint64 `json:"records"`
	Snapshots int    `json:"snapshots"`
	Rows      bool   `json:"rows"` // of this node
}

// A Redacted says what a redaction removed, and what remains.
type Redacted struct {
	Session core.SessionID `json:"session"`
	Log     string         `json:"log"`
	Cursor  core.Cursor    `json:"cursor"`
	Entries []string       `json:"entries"`
	SHA256  core.Digest    `json:"sha256"` // of the canonical JSONL after it
	Object  string         `json:"object"` // the snapshot that has it
	Forks   []string       `json:"forks"`  // sessions derived from this one, which may have the entries
	Removed Removed        `json:"removed"`
	Remains []string       `json:"remains"`
}
