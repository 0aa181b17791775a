package api

import (
	"encoding/json"
	"time"

	"github.com/sesslog/sesslog/core"
)

// FeedLoss says that a follower of several sessions did not get all records of
// one, because they were removed or replaced. The follower must read that session
// again.
type FeedLoss struct {
	Session core.SessionID `json:"session"`
	Problem Detail         `json:"problem"`
}

// Event is one record as a follower gets it.
type Event struct {
	Session core.SessionID    `json:"session,omitempty"` // where several are followed
	Seq     uint64            `json:"seq"`
	Cursor  core.Cursor       `json:"cursor"`
	Kind    core.Kind         `json:"kind"`
	Head    string            `json:"head"`
	Writer  string            `json:"writer"`
	Epoch   uint64            `json:"epoch"`
	Time    time.Time         `json:"time"`
	Entries []json.RawMessage `json:"entries,omitempty"` // lines of open, append and amend, images put back
	Body    json.RawMessage   `json:"body,omitempty"`    // of every other kind
}
