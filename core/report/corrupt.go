package report

import "github.com/sesslog/sesslog/core"

// A Corrupt is a session of which something cannot be read, and why.
type Corrupt struct {
	Session core.SessionID `json:"session"`
	Why     string         `json:"why"`
}
