package api

import (
	"github.com/sesslog/sesslog/core"
)

// A RowChange is a session whose row changed, as GET /v1/sessions/changes sends
// it.
type RowChange struct {
	ID core.SessionID `json:"id"`
	// Row is what it is now; nil where it is none that was asked for, or is gone.
	Row  *Row `json:"row,omitempty"`
	Mark Mark `json:"mark"` // to go on from
}
