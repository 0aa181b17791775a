package report

import (
	"time"

	"github.com/sesslog/sesslog/core"
)

// A ShardWork describes how a node truncates a shard.
type ShardWork struct {
	Shard     int       `json:"shard"`
	Mine      bool      `json:"mine"`               // this node owns it
	Surveyed  time.Time `json:"surveyed,omitzero"`  // time of the last survey
	Live      int64     `json:"live"`               // live bytes then
	Garbage   int64     `json:"garbage"`            // bytes of garbage then
	Truncated time.Time `json:"truncated,omitzero"` // last, by this node
	Freed     int64     `json:"freed"`              // bytes of garbage, by this node since it started
	InWay     []InWay   `json:"inWay,omitempty"`    // sessions that prevent truncation
	Error     string    `json:"error,omitempty"`    // why the last attempt failed
}

// InWay is a session that prevents truncation from its first record on.
type InWay struct {
	Session core.SessionID `json:"session"`
	Error   string         `json:"error"`
	Until   time.Time      `json:"until"` // when it is tried again
}
