package report

import (
	"fmt"

	"github.com/sesslog/sesslog/core"
)

// A Step is one record of a history, without its body.
type Step struct {
	Seq   uint64     `json:"seq"`
	Chain core.Chain `json:"chain"`
	Kind  core.Kind  `json:"kind"`
}

// A Relation says how a session in the log relates to a backup of it.
type Relation string

// How a session can relate to a backup of it.
const (
	Absent   Relation = "absent" // the log does not have it
	Same     Relation = "same"   // both end with the same record
	Behind   Relation = "behind" // the backup continues after the last record of the log
	Ahead    Relation = "ahead"  // the log continues after the last record of the backup
	Diverged Relation = "apart"  // both have records that the other lacks
	TooShort Relation = "short"  // the log ends before the first record of the backup
	Erased   Relation = "erased" // the log has erased it
)

// A Comparison says how a session in the log relates to a backup of it.
type Comparison struct {
	Relation       Relation    `json:"standing"`
	Log            core.Cursor `json:"log"`    // where the session ends in the log
	History        core.Cursor `json:"past"`   // where the backup ends
	Shared         core.Cursor `json:"shared"` // the last record of both, zero if none is known
	MissingRecords int         `json:"lacks"`  // number of records that the log lacks and can take
}

// Err returns why nothing of the backup can be stored in the log, or nil.
func (c *Comparison) Err(id core.SessionID) error {
	switch c.Relation {
	case Diverged:
		if c.Shared == (core.Cursor{}) {
			return fmt.Errorf("session %s is another in the log, which has it up to %s, than in the backup, up to %s; nothing was stored: %w",
				id, c.Log, c.History, core.ErrConflict)
		}
		return fmt.Errorf("session %s went two ways behind %s: in the log to %s, in the backup to %s; nothing was stored: %w",
			id, c.Shared, c.Log, c.History, core.ErrConflict)
	case TooShort:
		return fmt.Errorf("session %s: not restored: it ends at %s in the log, before the first record of the backup: %w\n"+
			"hint: restore it into a log that does not have it, such as a new one of the same name", id, c.Log, core.ErrConflict)
	case Erased:
		return fmt.Errorf("session %s was erased from the log at %s, its id is never used again: %w", id, c.Log, core.ErrDeleted)
	}
	return nil
}
