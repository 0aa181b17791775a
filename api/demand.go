package api

import (
	"github.com/sesslog/sesslog/core"
)

// A Demand says what an answer about a session must contain.
type Demand struct {
	// Seen is a cursor that was acknowledged: the answer has that record, or it
	// is core.ErrUnavailable; core.ErrLost where the log has no such record.
	Seen core.Cursor
	// Strict has a quorum of the log's servers agree that the answer has every
	// write that was acknowledged before it was asked for. Without it, a server
	// that was cut off from the others a moment ago may give an older one.
	Strict bool
}
