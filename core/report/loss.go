package report

import (
	"fmt"
	"time"

	"github.com/sesslog/sesslog/core"
)

// A Loss is a session of which the log has lost records, and what proves it.
type Loss struct {
	Session core.SessionID `json:"session"`
	End     uint64         `json:"end"`               // the last record in the log, 0 if it has none
	Proved  uint64         `json:"proved"`            // the last record that is known to have existed
	Witness string         `json:"witness"`           // a snapshot's key, or RowWitness
	Entries int            `json:"entries,omitempty"` // at Proved, according to the row; 0 if unknown
	Size    int64          `json:"size,omitempty"`    // bytes of the lines at Proved, likewise
	Dialect string         `json:"dialect,omitempty"` // likewise
	Found   time.Time      `json:"found,omitzero"`
	// Tried is why the session was not restored automatically, or not completely.
	Tried string `json:"tried,omitempty"`
	// Accepted is set once an operator has accepted the loss. The session can be
	// written then.
	Accepted bool `json:"accepted,omitempty"`
}

// RowWitness is the Witness of a loss that only a row of the listing proves.
const RowWitness = "row"

// String says what was lost.
func (l *Loss) String() string {
	by := "the snapshot " + l.Witness
	if l.Witness == RowWitness {
		by = "its row"
	}
	text := fmt.Sprintf("the log ends at record %d, and %s proves record %d", l.End, by, l.Proved)
	if l.Tried != "" {
		text += "; " + l.Tried
	}
	return text
}

// Err returns why nothing may be written to the session.
func (l *Loss) Err() error {
	return fmt.Errorf("session %s accepts no writes: %s (restore it from a backup, or accept the loss: sessctl verify --accept-loss %s): %w",
		l.Session, l, l.Session, core.ErrCorrupt)
}
